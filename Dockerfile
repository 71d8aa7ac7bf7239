FROM node:24-slim AS build
WORKDIR /postrider
COPY . .
RUN npm ci && npm run build:package

FROM node:24-slim
RUN mkdir /data && chown node:node /data
COPY --from=build /postrider/dist/package /opt/postrider
ENV PATH=/opt/postrider/bin:$PATH POSTRIDER_DATA=/data POSTRIDER_HTTP=0.0.0.0:8025
USER node
VOLUME /data
EXPOSE 8025 1025
HEALTHCHECK CMD ["node", "-e", "fetch('http://127.0.0.1:8025/healthz').then((a) => process.exit(a.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["postrider"]
CMD ["serve"]
