/**
 * What the user typed for a field of a request: the API names fields by JSON Pointers, and a person who called a command
 * knows options and arguments. Takes the command and a pointer; returns `--allow-ip`, `<email>`, or the field's own name.
 */
import type { Command } from 'commander';

/** Options and arguments that have another name than the field that they fill. */
const OTHERWISE: Readonly<Record<string, readonly string[]>> = {
  Attachments: ['attach'],
  DelayMs: ['delay'],
  Email: ['address'],
  ExpiresAt: ['expires'],
  HTMLContent: ['html'],
  IPAllowList: ['allow-ip'],
  PlainContent: ['text'],
  RecipientDomain: ['to'],
  SenderDomain: ['from'],
  StrictVariables: ['strict'],
  TemplateID: ['template'],
  Version: ['if-version', 'at'],
  WebhookURL: ['url'],
};

/** Of `--cc, value 2` and `<email>`. */
const WORD = /^(?:--|<)([\w-]+)/;

/** `pointer`: such as `/Domains/1`. A field that the command has no option for is written as settings are: `A.B`. */
export function typedName(
  command: Pick<Command, 'options' | 'registeredArguments'>,
  pointer: string,
): string {
  const parts = pointer.split('/').slice(1);
  for (const [i, part] of parts.entries()) {
    const words = wordsFor(part);
    const option = command.options.find(({ long }) => words.some((word) => long === `--${word}`));
    const argument = command.registeredArguments.find((one) => words.includes(one.name()));
    const found = option ?? argument;
    if (found === undefined) continue;
    const name = option?.long ?? `<${argument?.name()}>`;
    const [before = '', after = ''] = [parts[i - 1], parts[i + 1]];
    const index = [after, before].find((each) => /^\d+$/.test(each));
    return found.variadic && index !== undefined ? `${name}, value ${Number(index) + 1}` : name;
  }
  return parts.join('.');
}

/** Names of options and arguments that may fill a field. */
function wordsFor(part: string): string[] {
  return [...(OTHERWISE[part] ?? []), kebab(part), kebab(part).replace(/s$/, '')];
}

/** `ExpiresIn` → `expires-in`, `CC` → `cc`, `HTMLContent` → `html-content`. */
function kebab(name: string): string {
  return name.replace(/([a-z])([A-Z])|([A-Z])(?=[A-Z][a-z])/g, '$1$3-$2').toLowerCase();
}

/**
 * `message` about the field at `pointer` with `name`, what the user typed for it: in place of the field's own name if the
 * message has that, else before the message. A message that quotes an argument, or says what it is, stays as it is.
 */
export function withName(message: string, pointer: string, name: string): string {
  const last = pointer.split('/').findLast((part) => !/^\d+$/.test(part)) ?? '';
  // What stands in an option's value, such as the name of a variable, is the user's own.
  const isOther = /^(?:--|<)/.test(name) && !wordsFor(last).some((word) => WORD.exec(name)?.[1] === word);
  const member = /^[A-Za-z]+$/.test(last) && !isOther ? last : undefined;
  // Also `Domains[0]` and `Items[1].Email`.
  const word = new RegExp(`(?:\\b\\w+(?:\\[\\d+\\])?\\.)*\\b${member}\\b(?:\\[\\d+\\])*`);
  if (member !== undefined && member !== name && word.test(message)) return message.replace(word, () => name);
  // Names of fields may come from the user, as keys of Metadata do: not part of a pattern.
  const words = message.toLowerCase().split(/[^\w.-]+/);
  if (words.includes(name.toLowerCase())) return message;
  const argument = /^<([^>]+)>/.exec(name)?.[1];
  const isPlain =
    argument !== undefined && (message.includes('"') || message.toLowerCase().includes(argument));
  return isPlain ? message : `${name}: ${message}`;
}
