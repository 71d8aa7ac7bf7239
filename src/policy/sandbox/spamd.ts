/**
 * Asks a `spamd` of the operator about one mail (SPAMC protocol 1.5, command REPORT). Takes its address; returns the score and
 * the rules that matched, or a sentence that says why there are none. The size of the mail, the time and the size of the answer
 * are limited, and so is how many run at once.
 */
import { connect } from 'node:net';
import type { Clock } from '../../lib/clock.ts';
import { createTally } from '../../lib/tally.ts';
import type { CheckSpam, SpamReport, SpamRule } from '../../model/spam.ts';

/** What `spamc` takes, too; larger mail is rarely spam and takes long. */
const MAX_MAIL_BYTES = 500 * 1024;
const MAX_ANSWER_BYTES = 64 * 1024;
const MAX_RUNNING = 4;
const MAX_RUNNING_EACH = 2;
const MAX_RULES = 200;
const TIMEOUT_MS = 20_000;
const HEADER = /^SPAMD\/[0-9.]{1,8} 0 [^\r\n]{0,80}\r\n/;
const POINTS =
  /\r\nSpam: [A-Za-z]{1,8} ; (-?[0-9]{1,5}(?:\.[0-9]{1,4})?) \/ (-?[0-9]{1,5}(?:\.[0-9]{1,4})?)\r\n/;
const RULE = /^ {0,3}(-?[0-9]{1,5}(?:\.[0-9]{1,3})?) ([A-Z0-9_]{1,80})(?: ([^\r\n]*))?$/;
const MORE = /^ {20}([^\r\n]*)$/;

export function createSpamd(
  { clock }: { clock: Clock },
  { host, port }: { host: string; port: number },
): CheckSpam {
  const running = createTally();
  let all = 0;

  return async (message, tenant) => {
    if (message.length > MAX_MAIL_BYTES) return unchecked('SpamAssassin is not asked about mail over 500 KB');
    if (all >= MAX_RUNNING || running.of(tenant) >= MAX_RUNNING_EACH)
      return unchecked('SpamAssassin is busy with other mail: try again in a moment');
    running.add(tenant, 1);
    all += 1;
    try {
      return readReport(await ask(message));
    } catch (error) {
      // The message of a socket error contains the address, which tenants may not see.
      const { code, message: why } = error as NodeJS.ErrnoException;
      return unchecked(`SpamAssassin did not answer: ${code ?? why}`);
    } finally {
      all -= 1;
      running.add(tenant, -1);
    }
  };

  function ask(message: Uint8Array): Promise<string> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host, port });
      const timer = clock.setTimer(TIMEOUT_MS, () => socket.destroy(new Error('it took too long')));
      const parts: Buffer[] = [];
      let bytes = 0;
      socket.on('connect', () => {
        socket.write(`REPORT SPAMC/1.5\r\nContent-length: ${message.length}\r\n\r\n`);
        socket.end(message);
      });
      socket.on('data', (part) => {
        bytes += part.length;
        if (bytes > MAX_ANSWER_BYTES) socket.destroy(new Error('its answer is too long'));
        else parts.push(part);
      });
      socket.on('end', () => resolve(Buffer.concat(parts).toString('utf8')));
      socket.on('error', reject);
      socket.on('close', () => {
        timer.cancel();
        reject(new Error('the connection was closed'));
      });
    });
  }
}

/** Reads the whole answer to REPORT. */
export function readReport(answer: string): SpamReport {
  const points = HEADER.test(answer) ? POINTS.exec(answer.slice(0, 1_024)) : null;
  if (points === null) {
    const [first = ''] = answer.split('\r\n', 1);
    return unchecked(`SpamAssassin gave an answer that is not understood: ${first.slice(0, 100)}`);
  }
  const rules: SpamRule[] = [];
  for (const line of answer.split(/\r?\n/)) {
    const [, number, name, said = ''] = RULE.exec(line) ?? [];
    const last = rules.at(-1);
    const more = MORE.exec(line)?.[1]?.trim();
    if (name !== undefined && rules.length < MAX_RULES)
      rules.push({ name, points: Number(number), description: said.trim() });
    else if (more !== undefined && last !== undefined)
      last.description = `${last.description} ${more}`.trim().slice(0, 500);
  }
  return { kind: 'checked', points: Number(points[1]), required: Number(points[2]), rules };
}

function unchecked(why: string): SpamReport {
  return { kind: 'not-checked', why };
}
