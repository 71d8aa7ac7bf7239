// The engine's own measurements, each a line of a Markdown table: node bench/engine/run.ts codes|claims|neighbours [size]
import { measureClaims } from './claims.ts';
import { measureCodes } from './codes.ts';
import { measureNeighbours } from './neighbours.ts';

const [what = '', size] = process.argv.slice(2);
switch (what) {
  case 'codes':
    console.log(
      '| load | p50 ms | p99 ms | worst ms | bulk | memory |\n| --- | --- | --- | --- | --- | --- |',
    );
    console.log(await measureCodes(Number(size ?? 100_000)));
    break;
  case 'claims':
    console.log('| rows | due queues p50 ms | p99 | claim p50 ms | p99 |\n| --- | --- | --- | --- | --- |');
    console.log(await measureClaims(Number(size ?? 1_000_000)));
    break;
  case 'neighbours':
    console.log('| load | alone | beside | share |\n| --- | --- | --- | --- |');
    console.log(await measureNeighbours(Number(size ?? 2_000), 3));
    break;
  default:
    console.error(
      'node bench/engine/run.ts codes [bulk messages] | claims [rows] | neighbours [messages a domain]\n' +
        'Example: node bench/engine/run.ts codes 100000',
    );
    process.exitCode = 2;
}
