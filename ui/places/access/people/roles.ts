/** The roles of people in words, and a password for somebody new. */
import type { Person } from '../../../../src/client/api-types.ts';

export const ROLES = [
  { value: 'operator', name: 'Operator', may: 'Does everything, for all domains, and adds people' },
  { value: 'member', name: 'Member', may: 'Works with some domains, by a preset of rights' },
  {
    value: 'viewer',
    name: 'Viewer',
    may: 'Reads everything of some or all domains, also messages; changes nothing',
  },
] as const satisfies readonly { value: Person['Role']; name: string; may: string }[];

/** Rights of a member: value and name of each. */
export const MEMBER_PRESETS = [
  ['Send', 'Send: sends mail and reads nothing'],
  ['Default', 'Default: sends mail, reads what became of it, changes webhooks'],
  ['Full', 'Full: everything for these domains, also makes tokens'],
] as const;

export function roleText({ Role, Preset }: Person): string {
  const name = ROLES.find(({ value }) => value === Role)?.name ?? Role;
  return Preset === null ? name : `${name} (${Preset})`;
}

const LETTERS = 'abcdefghjkmnpqrstuvwxyz23456789';
const PASSWORD_CHARS = 24;

/** Of 118 random bits, without letters that look alike. */
export function newPassword(): string {
  let password = '';
  while (password.length < PASSWORD_CHARS)
    // What is left over would make the first letters likelier.
    for (const octet of crypto.getRandomValues(new Uint8Array(PASSWORD_CHARS)))
      if (octet < 256 - (256 % LETTERS.length) && password.length < PASSWORD_CHARS)
        password += LETTERS[octet % LETTERS.length];
  return password;
}
