# One image for campaigns, worker hosts and the server; what it does is its command:
#   docker build -t verifier-ladder .
#   docker run verifier-ladder worker start --tier simulation
# A smaller image of one domain: docker build --build-arg EXTRAS=distributed,chem,xtb …
FROM python:3.12-slim

# tblite computes with OpenMP, RDKit draws with libraries of the X Window System.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends libexpat1 libgomp1 libxext6 libxrender1 \
    && rm -rf /var/lib/apt/lists/*

ARG EXTRAS=demo,distributed,http,simulation
WORKDIR /src
COPY pyproject.toml constraints.txt README.md LICENSE MANIFEST.in ./
COPY verifier_ladder verifier_ladder
COPY tiers tiers
COPY scheduler scheduler
RUN pip install --no-cache-dir --constraint constraints.txt ".[${EXTRAS}]" \
    && useradd --create-home ladder

USER ladder
WORKDIR /home/ladder
# A container's process 1 gets SIGTERM, and vladder then ends in order.
STOPSIGNAL SIGTERM
ENTRYPOINT ["vladder"]
CMD ["worker", "start"]
