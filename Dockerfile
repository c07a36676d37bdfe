# aouo in a container: no root, a root that may be read-only, a home that is a volume.
#   docker compose up -d      docs/operations.md, "In a container"
FROM python:3.13-slim

COPY . /opt/aouo
WORKDIR /opt/aouo
RUN scripts/setup runtime \
  && .venv/bin/python -m compileall -q aouo .venv/lib \
  && useradd --uid 10001 --create-home aouo \
  && install --directory --owner=10001 --mode=0700 /home/aouo/.aouo

USER 10001
WORKDIR /home/aouo
ENV AOUO_HOME=/home/aouo/.aouo PYTHONDONTWRITEBYTECODE=1
VOLUME /home/aouo/.aouo
HEALTHCHECK --interval=60s --timeout=10s --start-period=60s \
  CMD ["/opt/aouo/.venv/bin/aouo", "status", "--health"]
ENTRYPOINT ["/opt/aouo/.venv/bin/aouo"]
CMD ["start"]
