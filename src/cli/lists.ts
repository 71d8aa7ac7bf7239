/**
 * Commands that only list: they read every page of a list and print a table, or JSON with `--json`. They create no
 * data folder.
 */
import type { Person, Token } from '../client/api-types.ts';
import type { Page } from '../client/many.ts';
import { type Api, EXISTING, everyItem, everyPage, WAITING } from './api-client.ts';
import type { CommandContext } from './command.ts';
import { tableOf } from './terminal.ts';

/** Prints a row for each item of the list at `path`, or `empty` if there is none. */
export function printTable<Item>(
  ctx: CommandContext,
  path: string,
  head: readonly string[],
  rowOf: (item: Item) => readonly string[],
  empty: string,
): Promise<void> {
  return ctx.withApi(async (api) => {
    const items = await everyItem<Item>(api, path);
    const rows = items.map((item) => rowOf(item));
    ctx.print(items, tableOf(head, rows, empty));
  }, EXISTING);
}

/** The same for what a token or a person has made; `rowOf` is also given who that was, by name. */
export function printMade<Item extends { CreatedBy: string | null }>(
  ctx: CommandContext,
  path: string,
  head: readonly string[],
  rowOf: (item: Item, madeBy: string) => readonly string[],
  empty: string,
): Promise<void> {
  return ctx.withApi(async (api) => {
    const items = await everyItem<Item>(api, path);
    const names = await makersOf(api, items);
    const rows = items.map((item) => rowOf(item, names.get(item.CreatedBy ?? '') || (item.CreatedBy ?? '-')));
    ctx.print(items, tableOf(head, rows, empty));
  }, EXISTING);
}

/** Names of tokens and addresses of people, by id; those that were removed are missing. */
async function makersOf(
  api: Api,
  items: readonly { CreatedBy: string | null }[],
): Promise<Map<string, string>> {
  const makers = new Set(items.flatMap(({ CreatedBy }) => CreatedBy ?? []));
  const names = new Map<string, string>();
  const isUnnamed = () => [...makers].some((id) => !names.has(id));
  if (isUnnamed())
    for (const { TokenID, Name } of await everyItem<Token>(api, '/tokens')) names.set(TokenID, Name);
  if (isUnnamed())
    for (const { PersonID, Email } of await everyItem<Person>(api, '/people')) names.set(PersonID, Email);
  return names;
}

/** The same with a text instead of a table; the JSON is the whole answer. */
export function printPages<Answer extends Page<unknown>>(
  ctx: CommandContext,
  path: string,
  textOf: (answer: Answer) => string,
): Promise<void> {
  return ctx.withApi(async (api) => {
    const answer = await everyPage<Answer>(api, path);
    ctx.print(answer, textOf(answer));
  }, WAITING);
}
