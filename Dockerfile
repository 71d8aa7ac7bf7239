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
# The server says in this file where it listens.
HEALTHCHECK --interval=10s --timeout=5s CMD ["node", "-e", "const { url } = JSON.parse(fs.readFileSync(process.env.POSTRIDER_DATA + '/server.json')); fetch(url + '/healthz').then((a) => process.exit(a.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["postrider"]
CMD ["serve"]
