/** A client of a stream of server-sent events, for tests: its blocks one by one, and how it ended. */
import { request as httpRequest } from 'node:http';

export interface Block<Data> {
  id: string;
  event: string;
  /** null: a heartbeat, or the opening. */
  data: Data | null;
}

export interface OpenedStream<Data> {
  status: Promise<number>;
  /** Resolves with its end, whoever ended it. */
  ended: Promise<void>;
  next(): Promise<Block<Data>>;
  close(): void;
}

/** Opens one; `next` waits for as long as it takes. */
export function openStream<Data>(
  url: string,
  token: string,
  headers: Record<string, string> = {},
): OpenedStream<Data> {
  const blocks: Block<Data>[] = [];
  const waiting: ((block: Block<Data>) => void)[] = [];
  const ended = Promise.withResolvers<void>();
  const head = Promise.withResolvers<number>();
  const request = httpRequest(
    url,
    { headers: { authorization: `Bearer ${token}`, ...headers }, agent: false },
    (response) => {
      head.resolve(response.statusCode ?? 0);
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        const parts = (text + chunk).split('\n\n');
        text = parts.pop() ?? '';
        for (const part of parts) take(part);
      });
      response.on('end', () => ended.resolve());
      response.on('error', () => ended.resolve());
    },
  );
  request.on('error', () => ended.resolve());
  request.end();

  function take(part: string): void {
    const of = (name: string) =>
      part
        .split('\n')
        .find((line) => line.startsWith(`${name}: `))
        ?.slice(name.length + 2) ?? '';
    const data = of('data');
    const block = { id: of('id'), event: of('event'), data: data === '' ? null : JSON.parse(data) };
    const next = waiting.shift();
    if (next === undefined) blocks.push(block);
    else next(block);
  }

  return {
    status: head.promise,
    ended: ended.promise,
    next: () =>
      new Promise((resolve) => {
        const block = blocks.shift();
        if (block === undefined) waiting.push(resolve);
        else resolve(block);
      }),
    close: () => request.destroy(),
  };
}
