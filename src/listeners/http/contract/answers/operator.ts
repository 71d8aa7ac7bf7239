/** Configuration in force and the health of the process. Types only. */

import type { Page } from './page.ts';

/** One key of GET /config. */
export interface ConfigItem {
  Key: string;
  /** As it may be shown; null = not set. */
  Value: string | null;
  Source: 'flag' | 'environment' | 'file' | 'default';
  Default: string | null;
  Meaning: string;
}

/** GET /config. */
export interface ConfigAnswer {
  /** How the server runs. */
  Mode: 'dev' | 'serve';
  Items: readonly ConfigItem[];
}

/** A request or SMTP command that was refused. */
export interface RefusalItem {
  RefusalID: string;
  /** The last time. */
  Time: string;
  Since: string;
  Times: number;
  Via: 'HTTP' | 'SMTP';
  Action: string;
  Status: number;
  Code: number | null;
  Name: string | null;
  Message: string;
  Domain: string | null;
  TokenID: string | null;
  TokenName: string | null;
  Peer: string;
}

/** GET /refusals. */
export type RefusalsAnswer = Page<RefusalItem>;

/** GET /healthz and /readyz. */
export interface HealthAnswer {
  Status: 'ok' | 'unavailable';
  Checks: readonly { Name: string; Ok: boolean; Detail: string }[];
}
