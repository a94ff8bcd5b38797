"""Demos: campaigns that anybody can run and watch, from an installed package."""
