import { describe, expect, it } from 'vitest';
import type { Me } from '../../../src/client/api-types.ts';
import { mayAct } from './may-act.ts';

const may = (Path: string, Scopes: readonly string[], Operations: readonly string[] = []) =>
  mayAct({ Scopes, Operations } as unknown as Me, { Path });
const PATHS = ['/domains/example.com/verify', '/webhooks/1', '/webhooks/1/test'];
const SERVER = ['/queue/paths/mx.example.net/try', '/queue/release', '/doctor', '/something/new'];

describe('the button of what needs attention', () => {
  it('is for nobody who may only look', () => {
    const scopes = ['domains:read', 'webhooks:read', 'stats:read'];
    expect([...PATHS, ...SERVER].filter((path) => may(path, scopes))).toEqual([]);
  });

  it('is for whoever may change the domain or the webhook', () => {
    const scopes = ['domains:write', 'webhooks:write'];
    expect([...PATHS, ...SERVER].filter((path) => may(path, scopes))).toEqual(PATHS);
  });

  it('is for an operator, whatever it calls', () => {
    expect([...PATHS, ...SERVER].filter((path) => !may(path, ['admin']))).toEqual([]);
  });

  it('is for whoever has its operation alone, as on a development server', () => {
    expect(may('/queue/release', ['email:read'], ['releaseQueue'])).toBe(true);
    expect(may('/queue/release', ['email:read'], ['tryPath'])).toBe(false);
  });
});
