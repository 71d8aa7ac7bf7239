/** Narrows the list to one reason. */
import { ChevronDown } from 'lucide-react';
import { Button } from '../../components/button.tsx';
import { Menu } from '../../components/menu.tsx';
import { splitWords } from '../../components/search-text.ts';
import { REASONS } from './reasons.ts';

export function ReasonMenu({ text, onText }: { text: string; onText(text: string): void }) {
  const words = splitWords(text);
  const others = words.filter(({ word }) => !/^reason:/i.test(word)).map(({ typed }) => typed);
  const said = words.find(({ word }) => /^reason:/i.test(word))?.word.slice('reason:'.length);
  const current = REASONS.find(({ word }) => word.toLowerCase() === said?.toLowerCase());
  return (
    <Menu
      trigger={
        <Button>
          {current?.name ?? 'Any reason'} <ChevronDown size={12} aria-hidden />
        </Button>
      }
      entries={[
        { name: 'Any reason', run: () => onText(others.join(' ')), isCurrent: current === undefined },
        ...REASONS.map(({ word, name }) => ({
          name,
          run: () => onText([...others, `reason:${word.toLowerCase()}`].join(' ')),
          isCurrent: current?.word === word,
        })),
      ]}
    />
  );
}
