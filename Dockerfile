# Two stages: one installs as the Makefile's `install` does, one runs what came of it.

FROM python:3.12-slim AS build
WORKDIR /srv/fleet
RUN python3 -m venv .venv
COPY requirements.lock pyproject.toml ./
RUN .venv/bin/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
COPY app app
COPY alembic alembic
RUN .venv/bin/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .

FROM python:3.12-slim
# PostgreSQL, if it is the embedded one, refuses to run as root; and nothing here needs root.
RUN useradd --system --user-group --no-create-home --shell /usr/sbin/nologin fleet \
    && install --directory --owner=fleet --group=fleet --mode=0700 /var/lib/fleet
COPY --from=build /srv/fleet /srv/fleet
ENV PATH=/srv/fleet/.venv/bin:$PATH \
    FLEET_DATA_DIR=/var/lib/fleet \
    FLEET_HOST=0.0.0.0 \
    FLEET_LOG_JSON=true
USER fleet
WORKDIR /var/lib/fleet
VOLUME /var/lib/fleet
EXPOSE 8420
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
    CMD ["python3", "-c", "import os, urllib.request as u; port = os.environ.get('FLEET_PORT') or 8420; u.build_opener(u.ProxyHandler({})).open(f'http://127.0.0.1:{port}/healthz', timeout=2)"]
# With FLEET_DATABASE_URL set, run `fleet serve` instead: as many replicas as you like.
CMD ["fleet", "up"]
