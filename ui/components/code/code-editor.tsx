/** A text that is edited as code: lines with numbers, colours, and marks where something is wrong. Tab leaves it. */
import { type Ref, useEffect, useImperativeHandle, useRef } from 'react';
import { type CodePosition, createEditor, type Editor, type EditorOptions } from './create-editor.ts';

export interface CodeEditorHandle {
  goTo(place: CodePosition): void;
}

export interface CodeEditorProps extends EditorOptions {
  ref?: Ref<CodeEditorHandle>;
  problems: readonly CodePosition[];
}

export function CodeEditor({ ref, label, language, value, isReadOnly, problems, onValue }: CodeEditorProps) {
  const box = useRef<HTMLDivElement>(null);
  const editor = useRef<Editor>(undefined);
  /** Told, and not come back as `value` yet: whoever types fast is ahead of the page. */
  const told = useRef<string[]>([]);
  const latest = useRef({ value, isReadOnly, onValue });
  latest.current = { value, isReadOnly, onValue };

  useEffect(() => {
    const host = document.createElement('div');
    host.className = 'absolute inset-0';
    box.current?.append(host);
    const made = createEditor(host.attachShadow({ mode: 'open' }), {
      ...latest.current,
      language,
      label,
      onValue(text) {
        told.current.push(text);
        latest.current.onValue(text);
      },
    });
    editor.current = made;
    told.current = [];
    return () => {
      made.destroy();
      host.remove();
    };
  }, [language, label]);
  useEffect(() => {
    const at = told.current.lastIndexOf(value);
    told.current = told.current.slice(at + 1);
    if (at === -1) editor.current?.setValue(value);
  }, [value]);
  useEffect(() => editor.current?.setReadOnly(isReadOnly), [isReadOnly]);
  const marks = problems.map(({ line, column }) => `${line}:${column}`).join();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the same places are not marked again
  useEffect(() => editor.current?.setProblems(problems), [marks]);
  useImperativeHandle(ref, () => ({ goTo: (place) => editor.current?.goTo(place) }), []);

  return <div ref={box} data-takes-keys className="relative min-h-0 flex-1" />;
}
