/** What a list is searched by: told once nobody types for a moment, and as it changes elsewhere. */

import { useNavigate, useSearch } from '@tanstack/react-router';
import { Search } from 'lucide-react';
import { type ComponentProps, useCallback, useEffect, useRef, useState } from 'react';
import { useKeys } from './use-keys.ts';

const TYPING_MS = 250;

export function SearchBox({
  words,
  label,
  placeholder = 'Search',
  isWrong = false,
  onWords,
}: {
  words: string;
  label: string;
  placeholder?: string;
  isWrong?: boolean;
  onWords(words: string): void;
}) {
  const [typed, setTyped] = useState(words);
  useEffect(() => setTyped(words), [words]);
  useEffect(() => {
    if (typed === words) return;
    const timer = setTimeout(() => onWords(typed), TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed, words, onWords]);
  return (
    <SearchInput
      value={typed}
      onChange={(event) => setTyped(event.target.value)}
      onEnter={() => onWords(typed)}
      placeholder={placeholder}
      aria-label={label}
      aria-invalid={isWrong}
    />
  );
}

/** What the list of a place is searched by, as its address says it, for `SearchBox`. */
export function useSearchBox(from: '/domains' | '/suppressions' | '/templates' | '/access') {
  const { q: words = '' } = useSearch({ from });
  const navigate = useNavigate({ from });
  const onWords = useCallback(
    (next: string) =>
      void navigate({
        search: ({ q: _, ...others }) => ({ ...others, ...(next.trim() === '' ? {} : { q: next }) }),
        replace: true,
      }),
    [navigate],
  );
  return { words, onWords };
}

/** An address of the page that holds more is refused by servers and proxies. */
export const MAX_WORDS_CHARS = 1_000;

/** The box alone, for what is searched in the page itself. `/` goes there, Esc leaves it. */
export function SearchInput({ onEnter, ...rest }: ComponentProps<'input'> & { onEnter(): void }) {
  const box = useRef<HTMLInputElement>(null);
  useKeys({ '/': () => box.current?.focus() });
  return (
    <div className="relative min-w-0 flex-1">
      <Search size={14} aria-hidden className="absolute inset-y-0 left-2.5 my-auto text-soft" />
      <input
        ref={box}
        type="search"
        maxLength={MAX_WORDS_CHARS}
        aria-keyshortcuts="/"
        {...rest}
        onKeyDown={({ key, currentTarget }) => {
          if (key === 'Enter') onEnter();
          if (key === 'Escape') currentTarget.blur();
        }}
        className="h-8 w-full text-ellipsis rounded-md border border-line-strong bg-page pr-2 pl-8 aria-invalid:border-bad"
      />
    </div>
  );
}
