/** What a list is searched by: told once nobody types for a moment, and as it changes elsewhere. */
import { Search } from 'lucide-react';
import { type Ref, useEffect, useState } from 'react';

const TYPING_MS = 250;

export function SearchBox({
  ref,
  words,
  label,
  placeholder = 'Search',
  isWrong,
  onWords,
}: {
  ref: Ref<HTMLInputElement>;
  words: string;
  label: string;
  placeholder?: string;
  isWrong: boolean;
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
    <div className="relative min-w-0 flex-1">
      <Search size={14} aria-hidden className="absolute top-2.5 left-2.5 text-soft" />
      <input
        ref={ref}
        type="search"
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter') onWords(typed);
          if (event.key === 'Escape') event.currentTarget.blur();
        }}
        placeholder={placeholder}
        aria-label={label}
        aria-invalid={isWrong}
        aria-keyshortcuts="/"
        className="h-8.5 w-full rounded-md border border-line-strong bg-page pr-2 pl-8 placeholder:text-soft"
      />
    </div>
  );
}
