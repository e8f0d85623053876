# The audit and the recorder in one image: Python, a headless Java, the locked packages, and all that set-up can fetch.
# Nothing is fetched when it runs. Build: docker build --tag rebalance-audit .
FROM python:3.11-slim-bookworm AS build
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install --yes --no-install-recommends openjdk-17-jre-headless \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /source
RUN python -m venv /opt/rebalance-audit
ENV PATH=/opt/rebalance-audit/bin:$PATH
COPY deploy/requirements.lock deploy/
RUN pip install --no-cache-dir --require-hashes --requirement deploy/requirements.lock
COPY . .
RUN pip install --no-cache-dir --no-deps . \
 && rebalance-audit setup \
 && rebalance-audit setup --capture \
 && rebalance-audit setup --s3

FROM python:3.11-slim-bookworm
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install --yes --no-install-recommends openjdk-17-jre-headless tini \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --uid 10001 --create-home --shell /usr/sbin/nologin rebalance-audit \
 && install --directory --owner=10001 --group=10001 /data
COPY --from=build /opt/rebalance-audit /opt/rebalance-audit
ENV PATH=/opt/rebalance-audit/bin:$PATH \
    REBALANCE_AUDIT_WAREHOUSE=/data/warehouse \
    PYTHONUNBUFFERED=1
USER 10001
WORKDIR /data
VOLUME /data
# Spark and the admin client run in processes of their own: tini gives their signals on and collects them.
ENTRYPOINT ["tini", "--", "rebalance-audit"]
CMD ["--help"]
