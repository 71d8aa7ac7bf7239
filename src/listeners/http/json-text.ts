/**
 * JSON of large answers: a page may name a thousand recipients a hundred times. Given an answer, writes the items of its
 * lists one by one and lets others have a turn between some of them; what a small answer costs is what `JSON.stringify`
 * costs. Leaves the same text.
 */
import { nextTurn } from '../../lib/turns.ts';

/** Characters that are written in one turn: some milliseconds. */
const CHARS_A_TURN = 1_000_000;

/** The text, or its bytes where it took several turns. */
export async function jsonText(value: unknown): Promise<string | Uint8Array> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return JSON.stringify(value);
  const done: Uint8Array[] = [];
  let text = '';
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined) continue;
    text += `${text === '' && done.length === 0 ? '{' : ','}${JSON.stringify(name)}:`;
    if (!Array.isArray(member)) {
      text += JSON.stringify(member);
      continue;
    }
    text += '[';
    for (let i = 0; i < member.length; i += 1) {
      text += `${i === 0 ? '' : ','}${JSON.stringify(member[i])}`;
      if (text.length < CHARS_A_TURN) continue;
      done.push(Buffer.from(text));
      text = '';
      await nextTurn();
    }
    text += ']';
  }
  text += text === '' && done.length === 0 ? '{}' : '}';
  return done.length === 0 ? text : Buffer.concat([...done, Buffer.from(text)]);
}
