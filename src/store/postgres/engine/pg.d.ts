/** The part of the package `pg` that this engine uses; the package has no types. */
declare module 'pg' {
  interface ClientOptions {
    host: string;
    port: number;
    user: string;
    database: string;
    /** Called where the server asks for one. */
    password: string | (() => string);
    ssl:
      | boolean
      | {
          rejectUnauthorized?: boolean;
          ca?: string;
          cert?: string;
          key?: string;
          checkServerIdentity?: () => undefined;
        };
    /** Makes the socket that is connected. */
    stream?: () => import('node:net').Socket;
    pipeline?: boolean;
    application_name?: string;
    connectionTimeoutMillis?: number;
    keepAlive?: boolean;
    keepAliveInitialDelayMillis?: number;
    types: { getTypeParser(oid: number): (text: string) => unknown };
  }

  interface QueryOptions {
    /** Prepared under this name, once for each connection. */
    name?: string;
    text: string;
    values?: readonly unknown[];
  }

  interface QueryResult {
    rows: unknown[];
    rowCount: number | null;
    /** What was done: `COMMIT`, `ROLLBACK`, `SELECT` … */
    command: string | null;
  }

  class Client {
    constructor(options: ClientOptions);
    connect(): Promise<unknown>;
    query(query: QueryOptions): Promise<QueryResult>;
    end(): Promise<void>;
    on(event: 'error', listener: (error: Error) => void): this;
    on(event: 'end', listener: () => void): this;
    on(event: 'notification', listener: (message: { channel: string; payload?: string }) => void): this;
  }

  const pg: { Client: typeof Client };
  export default pg;
  export type { Client };
}
