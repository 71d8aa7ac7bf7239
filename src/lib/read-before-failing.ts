/**
 * After a failed write, Node drops everything that the socket has received by then, which is often the reason why the
 * server closed. So errors are reported only after the input was read. `writes` is called when everything written so far is
 * passed to the system. Returns the undo function.
 */
import type { Duplex } from 'node:stream';
import { afterInput } from './turns.ts';

export function readBeforeFailing(socket: Duplex, writes: () => void): () => void {
  type Done = (error?: Error | null) => void;
  const { _write, _writev } = socket;
  const late =
    (done: Done): Done =>
    (error) => {
      if (error === undefined || error === null) done();
      else afterInput(() => done(error));
    };
  socket._write = (chunk, encoding, done) => {
    writes();
    _write.call(socket, chunk, encoding, late(done));
  };
  if (_writev)
    socket._writev = (chunks, done) => {
      writes();
      _writev.call(socket, chunks, late(done));
    };
  return () => Object.assign(socket, { _write }, _writev && { _writev });
}
