/**
 * A client that judges: sends bytes or requests to one server, holds every answer against what any answer must be, and
 * remembers what was accepted.
 */
import { expect } from 'vitest';
import { answersOf, type RawAnswer, sendRaw } from './raw-socket.ts';

export interface JudgingClient {
  /** Bodies of every 200 to POST /email. */
  readonly accepted: readonly string[];
  judge(answer: RawAnswer): void;
  /** Sends these bytes on a connection of their own and judges all that comes back. */
  exchange(bytes: Uint8Array | string): Promise<RawAnswer[]>;
  /** A whole POST /email as bytes. */
  post(body: Uint8Array | string, headers?: Record<string, string>): Buffer;
}

export function createJudgingClient(port: number, token: string): JudgingClient {
  const accepted: string[] = [];
  return { accepted, judge, exchange, post };

  /** What every answer must be, whatever was asked. */
  function judge(answer: RawAnswer): void {
    expect(answer.status, answer.body.slice(0, 300)).toBeLessThan(500);
    expect(answer.status).toBeGreaterThanOrEqual(100);
    if (answer.status >= 400 && answer.body !== '') {
      const problem = JSON.parse(answer.body);
      expect(problem.status).toBe(answer.status);
      expect(problem.Errors.length).toBeGreaterThan(0);
      for (const { Code, Name, Message } of problem.Errors) {
        expect([typeof Code, typeof Name, typeof Message]).toEqual(['number', 'string', 'string']);
      }
    }
    if (answer.status === 200 && answer.body.startsWith('{"MessageID"')) {
      expect(answer.body).toMatch(/^\{"MessageID":"[0-9a-f-]{36}"\}$/);
      accepted.push(answer.body);
    }
  }

  async function exchange(bytes: Uint8Array | string): Promise<RawAnswer[]> {
    const answers = answersOf(await sendRaw(port, Buffer.from(bytes as string)));
    for (const answer of answers) judge(answer);
    return answers;
  }

  function post(body: Uint8Array | string, headers: Record<string, string> = {}): Buffer {
    const bytes = Buffer.from(body as string);
    const all = {
      Host: '127.0.0.1',
      Authorization: `Bearer ${token}`,
      'Content-Type': 'application/json',
      'Content-Length': String(bytes.length),
      Connection: 'close',
      ...headers,
    };
    const head = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
    return Buffer.concat([
      Buffer.from(`POST /api/v1/email HTTP/1.1\r\n${head.join('')}\r\n`, 'latin1'),
      bytes,
    ]);
  }
}
