/**
 * What the commands that only list do: every page of a list is read, and printed as a table, or as JSON with `--json`. They
 * make no new data folder.
 */
import type { Page } from '../listeners/http/paging.ts';
import { EXISTING, everyItem, everyPage } from './api-client.ts';
import type { CommandContext } from './command.ts';
import { table } from './terminal.ts';

/** Prints a row for each item of the list at `path`; `empty` where there is none. */
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

/** The same for a list with a text of its own; its JSON is the whole answer. */
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
