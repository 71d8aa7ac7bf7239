/** A rotation does what an array would, in which the one that is taken is moved to the end. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createRotation, type Turn } from './rotation.ts';

interface Item extends Turn<Item> {
  id: number;
}

const steps = fc.array(
  fc.oneof(
    fc.constant({ kind: 'add' as const }),
    fc.record({ kind: fc.constant('next' as const), divisor: fc.integer({ min: 1, max: 4 }) }),
    fc.record({ kind: fc.constant('remove' as const), at: fc.nat(20) }),
    fc.record({ kind: fc.constant('removeSome' as const), divisor: fc.integer({ min: 1, max: 4 }) }),
  ),
  { maxLength: 60 },
);

it('keeps the order of an array', () => {
  fc.assert(
    fc.property(steps, (given) => {
      const rotation = createRotation<Item>();
      let items: Item[] = [];
      let id = 0;
      for (const step of given) {
        if (step.kind === 'add') {
          const item = { id: ++id, before: null, after: null };
          items.push(item);
          rotation.add(item);
        } else if (step.kind === 'next') {
          const taken = items.find((item) => item.id % step.divisor === 0) ?? null;
          if (taken !== null) items = [...items.filter((item) => item !== taken), taken];
          expect(rotation.next((item) => item.id % step.divisor === 0)?.id).toBe(taken?.id);
        } else if (step.kind === 'remove') {
          const [removed] = items.splice(step.at, 1);
          if (removed !== undefined) rotation.remove(removed);
        } else {
          for (const item of rotation.items()) if (item.id % step.divisor === 0) rotation.remove(item);
          items = items.filter((item) => item.id % step.divisor !== 0);
        }
        expect([...rotation.items()].map((item) => item.id)).toEqual(items.map((item) => item.id));
      }
    }),
  );
});
