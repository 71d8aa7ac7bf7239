/**
 * A CodeMirror editor in a shadow root: there its styles are style sheets of the document, which the policy of the page
 * allows, and not elements, which it does not. Tab is not bound, so that it leaves the editor. Given a language and a value;
 * tells every change.
 */
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import {
  Annotation,
  Compartment,
  EditorState,
  type Extension,
  StateEffect,
  StateField,
} from '@codemirror/state';
import { Decoration, type DecorationSet, EditorView, keymap, lineNumbers } from '@codemirror/view';
import { type Language, languageOf } from './languages.ts';

/** Where something is wrong, from 1. */
export interface CodePosition {
  line: number;
  column: number;
}

export interface Editor {
  /** Replaces the text unless it is the same, and does not tell so; can be undone by keys. */
  setValue(value: string): void;
  setProblems(places: readonly CodePosition[]): void;
  goTo(place: CodePosition): void;
  setReadOnly(isReadOnly: boolean): void;
  destroy(): void;
}

export interface EditorOptions {
  value: string;
  language: Language;
  label: string;
  isReadOnly: boolean;
  onValue(value: string): void;
}

export function createEditor(root: ShadowRoot, options: EditorOptions): Editor {
  const readOnly = new Compartment();
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: options.value,
      extensions: [
        ...look(),
        lineNumbers(),
        history(),
        keymap.of([...defaultKeymap, ...historyKeymap]),
        languageOf(options.language),
        PROBLEMS,
        REPLACING,
        EditorView.contentAttributes.of({ 'aria-label': options.label, spellcheck: 'false', tabindex: '0' }),
        readOnly.of(EditorState.readOnly.of(options.isReadOnly)),
        EditorView.updateListener.of((update) => {
          const isOwn = update.transactions.every((one) => one.annotation(fromOutside) !== true);
          if (update.docChanged && isOwn) options.onValue(update.state.doc.toString());
        }),
      ],
    }),
  });
  return {
    setValue(value) {
      const { doc } = view.state;
      if (doc.toString() === value) return;
      view.dispatch({
        changes: { from: 0, to: doc.length, insert: value },
        annotations: fromOutside.of(true),
      });
    },
    setProblems(places) {
      const { head } = view.state.selection.main;
      // What says so takes room from the editor: the line that is being written stays in sight.
      const inSight = view.hasFocus ? [EditorView.scrollIntoView(head)] : [];
      view.dispatch({ effects: [setPlaces.of(places), ...inSight] });
    },
    goTo(place) {
      const at = offsetOf(view.state, place);
      view.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: 'center' }) });
      view.focus();
    },
    setReadOnly: (isReadOnly) =>
      view.dispatch({ effects: readOnly.reconfigure(EditorState.readOnly.of(isReadOnly)) }),
    destroy: () => view.destroy(),
  };
}

/** How editors and comparisons look: the colours and types of the page. */
export function look(): Extension[] {
  return [
    EditorView.lineWrapping,
    EditorView.theme({
      '&': { height: '100%', color: 'var(--color-ink)', backgroundColor: 'transparent' },
      '&.cm-focused': { outline: '2px solid var(--color-accent)', outlineOffset: '-2px' },
      '.cm-scroller': { fontFamily: 'var(--font-mono)', fontSize: '0.8125rem', lineHeight: '1.25rem' },
      '.cm-content': { caretColor: 'var(--color-ink)', padding: '8px 0' },
      '.cm-line': { padding: '0 12px 0 8px', overflowWrap: 'anywhere' },
      '.cm-gutters': { backgroundColor: 'transparent', color: 'var(--color-soft)', border: 'none' },
      '.cm-problem': {
        backgroundColor: 'var(--color-bad-fill)',
        textDecoration: 'underline wavy var(--color-bad)',
        textUnderlineOffset: '3px',
      },
    }),
  ];
}

/**
 * Typing over coloured text is done here: a browser would keep its colour by an inline style, which the policy of the page
 * refuses.
 */
const REPLACING = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { readOnly, selection } = view.state;
    if (event.inputType !== 'insertText' || event.data === null || event.isComposing) return false;
    if (readOnly || selection.main.empty) return false;
    view.dispatch(view.state.replaceSelection(event.data), { userEvent: 'input.type', scrollIntoView: true });
    return true;
  },
});

const fromOutside = Annotation.define<boolean>();
const setPlaces = StateEffect.define<readonly CodePosition[]>();
const PROBLEM = Decoration.mark({ class: 'cm-problem' });

const PROBLEMS = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(marks, transaction) {
    let next = marks.map(transaction.changes);
    for (const effect of transaction.effects) {
      if (!effect.is(setPlaces)) continue;
      const ranges = effect.value.flatMap((place) => {
        const { doc } = transaction.state;
        const at = offsetOf(transaction.state, place);
        const { from, to } = doc.lineAt(at);
        // At the end of a line there is nothing to underline but what stands before it.
        return from === to ? [] : [PROBLEM.range(Math.min(at, to - 1), to)];
      });
      next = Decoration.set(ranges, true);
    }
    return next;
  },
  provide: (field) => EditorView.decorations.from(field),
});

function offsetOf({ doc }: EditorState, { line, column }: CodePosition): number {
  const { from, to } = doc.line(Math.min(Math.max(1, line), doc.lines));
  return Math.min(from + Math.max(0, column - 1), to);
}
