/**
 * JSON of large answers, which may name a thousand recipients a hundred times. Writes the items of lists one by one
 * and lets other requests run in between. A small answer costs as much as with `JSON.stringify`. The text is the
 * same, but for lone surrogates (lib/well-formed-json.ts).
 */

import { isJsonObject } from '../../lib/json-object.ts';
import { nextTurn } from '../../lib/turns.ts';
import { wellFormedJson } from '../../lib/well-formed-json.ts';

/** Characters that are written without a pause: some milliseconds. */
const CHARS_A_TURN = 1_000_000;

/** The text, or its bytes if writing was interrupted. */
export async function jsonText(value: unknown): Promise<string | Uint8Array> {
  if (!isJsonObject(value)) return wellFormedJson(value);
  const done: Uint8Array[] = [];
  let text = '';
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined) continue;
    text += `${text === '' && done.length === 0 ? '{' : ','}${JSON.stringify(name)}:`;
    if (!Array.isArray(member)) {
      text += wellFormedJson(member);
      continue;
    }
    text += '[';
    for (let i = 0; i < member.length; i += 1) {
      text += `${i === 0 ? '' : ','}${wellFormedJson(member[i])}`;
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
