# docker build -t napinn . && docker run --rm -v "$PWD:/data" napinn fit readings.csv --equation "T_t = D*T_xx" --unknown D
FROM python:3.12-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.12-slim
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir /wheels/*.whl && rm -r /wheels && useradd --create-home napinn
USER napinn
WORKDIR /data
ENTRYPOINT ["napinn"]
