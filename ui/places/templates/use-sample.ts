/** The sample variables of a template as they are typed, and what the texts become with the last ones that could be read. */
import { useRef, useState } from 'react';
import type { Texts } from './use-draft.ts';
import { type Rendering, useRendering } from './use-rendering.ts';
import {
  keepVariables,
  keptVariables,
  type ReadVariables,
  readVariables,
  type Variables,
  withNames,
} from './variables.ts';

export interface Sample {
  text: string;
  read: ReadVariables;
  /** The last that could be read. */
  variables: Variables;
  rendering: Rendering;
  setText(text: string): void;
  /** Adds a value for each of these names. */
  add(names: readonly string[]): void;
}

/** `key`: of the template and whoever writes. */
export function useSample(key: string, texts: Texts): Sample {
  const [text, setShown] = useState(() => keptVariables(key) || '{\n}\n');
  const read = readVariables(text);
  const last = useRef<Variables>({});
  if (read.ok) last.current = read.variables;
  const setText = (next: string): void => {
    setShown(next);
    keepVariables(key, next);
  };
  return {
    text,
    read,
    variables: last.current,
    rendering: useRendering(texts, last.current),
    setText,
    add: (names) => setText(`${JSON.stringify(withNames(last.current, names), null, 2)}\n`),
  };
}
