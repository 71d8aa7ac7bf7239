/**
 * Commands that only list: they read every page of a list and print a table, or JSON with `--json`. They create no
 * data folder.
 */
import type { Page } from '../listeners/http/paging.ts';
import { EXISTING, everyItem, everyPage } from './api-client.ts';
import type { CommandContext } from './command.ts';
import { table } from './terminal.ts';

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
    ctx.print(items, items.length === 0 ? empty : table([head, ...items.map(rowOf)]));
  }, EXISTING);
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
  }, EXISTING);
}
