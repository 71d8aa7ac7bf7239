/**
 * A store whose answers are lost, as where the connection to a database breaks after COMMIT: what was asked is done, and who
 * asked hears that the store cannot work. Given a store, and what decides of each answer.
 */
import { type Store, StoreUnavailable } from '../../src/store/store.ts';

export function losingAnswers(store: Store, strikes: () => boolean): Store {
  const answered = <Answer>(answer: Answer): Answer => {
    if (strikes()) throw new StoreUnavailable('The answer was lost');
    return answer;
  };
  const losing = Object.entries(store).map(([name, value]: [string, unknown]) => {
    if (typeof value !== 'function' || name === 'close' || name === 'writable') return [name, value];
    return [
      name,
      (...params: unknown[]) => {
        const result: unknown = Reflect.apply(value, store, params);
        return result instanceof Promise ? result.then(answered) : result;
      },
    ];
  });
  return Object.fromEntries(losing) as Store;
}
