/** Settings as they are looked for and told. Pure. */
import type { ConfigItem } from '../../../src/client/api-types.ts';

const FROM: Readonly<Record<ConfigItem['Source'], string>> = {
  flag: 'command line',
  environment: 'environment',
  file: 'postrider.json',
  default: 'default',
};

/** Where a value comes from, in words. */
export const sourceText = ({ Source }: Pick<ConfigItem, 'Source'>): string => FROM[Source];

/** Those that were set first; each in the given order otherwise. Every word of `text` stands somewhere in the row. */
export function found(items: readonly ConfigItem[], text: string): readonly ConfigItem[] {
  const words = text.toLowerCase().split(/\s+/);
  return items
    .filter((item) => {
      const row = `${item.Key} ${item.Value ?? ''} ${sourceText(item)} ${item.Meaning}`.toLowerCase();
      return words.every((word) => row.includes(word));
    })
    .toSorted((a, b) => Number(a.Source === 'default') - Number(b.Source === 'default'));
}
