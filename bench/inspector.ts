// Joins the threads of a running Node process as a debugger, by its inspector's WebSocket, to sample where they spend
// time and what allocates. The store's threads are reached through the main thread (domain NodeWorker).

/** One function of a sampled stack, and what was found in it itself. */
export interface Frame {
  readonly functionName: string;
  /** A file, `node:…`, or '' for what is built in. */
  readonly url: string;
  readonly line: number;
  readonly parent: Frame | null;
  /** Samples taken in this function, and bytes that it allocated. */
  self: number;
}

export interface ThreadSamples {
  readonly cpu: readonly Frame[];
  readonly allocated: readonly Frame[];
}

export interface ProfiledThread {
  /** `main`, or the name that the thread was given. */
  readonly name: string;
  start(sampleUs: number): Promise<void>;
  stop(): Promise<void>;
  /** After `stop`. */
  samples(): ThreadSamples;
}

interface CallFrame {
  functionName: string;
  url: string;
  lineNumber: number;
}
interface CpuProfile {
  nodes: { id: number; callFrame: CallFrame; children?: number[] }[];
  samples: number[];
}
interface HeapNode {
  callFrame: CallFrame;
  selfSize: number;
  children: HeapNode[];
}

type Send = (method: string, params?: object) => Promise<unknown>;

/** Every thread of the process whose inspector listens on this loopback port. */
export async function joinThreads(port: number): Promise<ProfiledThread[]> {
  const [target] = (await (await fetch(`http://127.0.0.1:${port}/json/list`)).json()) as {
    webSocketDebuggerUrl: string;
  }[];
  if (target === undefined) throw new Error('nothing to debug on this port');
  const socket = new WebSocket(target.webSocketDebuggerUrl);
  await new Promise((resolve, reject) => {
    socket.onopen = resolve;
    socket.onerror = () => reject(new Error('the inspector did not answer'));
  });
  const threads: ProfiledThread[] = [];
  const workers = new Map<string, (text: string) => void>();
  const main = session((text) => socket.send(text));
  socket.onmessage = ({ data }) => {
    const { method, params } = JSON.parse(String(data));
    if (method === 'NodeWorker.receivedMessageFromWorker') workers.get(params.sessionId)?.(params.message);
    else if (method === 'NodeWorker.attachedToWorker') {
      const { sessionId, workerInfo } = params;
      const worker = session(
        (message) => void main.send('NodeWorker.sendMessageToWorker', { sessionId, message }),
      );
      workers.set(sessionId, worker.receive);
      threads.push(profiled(threadName(workerInfo.title), worker.send));
    } else main.receive(String(data));
  };
  threads.push(profiled('main', main.send));
  // The workers that run are announced before the answer.
  await main.send('NodeWorker.enable', { waitForDebuggerOnStart: false });
  return threads;
}

/** `[worker 1] store-writer` → `store writer`. */
function threadName(title: string): string {
  const name = title.replace(/^\[worker \d+\] */, '').replace('-', ' ');
  return name === 'store reader' ? 'store readers' : name;
}

function session(post: (text: string) => void): { send: Send; receive(text: string): void } {
  const asked = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  let last = 0;
  return {
    send: (method, params = {}) =>
      new Promise((resolve, reject) => {
        last += 1;
        asked.set(last, { resolve, reject });
        post(JSON.stringify({ id: last, method, params }));
      }),
    receive(text) {
      const { id, result, error } = JSON.parse(text);
      const waiting = asked.get(id);
      asked.delete(id);
      if (error === undefined) waiting?.resolve(result);
      else waiting?.reject(new Error(error.message));
    },
  };
}

/** A sample for so many octets: one for some five messages. */
const ALLOCATION_BYTES = 512 * 1024;

function profiled(name: string, send: Send): ProfiledThread {
  let samples: ThreadSamples = { cpu: [], allocated: [] };
  return {
    name,
    async start(sampleUs) {
      await send('Profiler.enable');
      await send('Profiler.setSamplingInterval', { interval: sampleUs });
      await send('HeapProfiler.enable');
      await send('HeapProfiler.startSampling', {
        samplingInterval: ALLOCATION_BYTES,
        includeObjectsCollectedByMajorGC: true,
        includeObjectsCollectedByMinorGC: true,
      });
      await send('Profiler.start');
    },
    async stop() {
      const { profile } = (await send('Profiler.stop')) as { profile: CpuProfile };
      const heap = (await send('HeapProfiler.stopSampling')) as { profile: { head: HeapNode } };
      samples = { cpu: cpuFrames(profile), allocated: heapFrames(heap.profile.head, null) };
    },
    samples: () => samples,
  };
}

function cpuFrames({ nodes, samples }: CpuProfile): Frame[] {
  const parents = new Map<number, number>();
  for (const { id, children = [] } of nodes) for (const child of children) parents.set(child, id);
  const frames = new Map<number, Frame>();
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const frameOf = (id: number): Frame => {
    const known = frames.get(id);
    if (known !== undefined) return known;
    const { functionName, url, lineNumber } = byId.get(id)?.callFrame ?? {
      functionName: '',
      url: '',
      lineNumber: 0,
    };
    const above = parents.get(id);
    const frame = {
      functionName,
      url,
      line: lineNumber + 1,
      parent: above === undefined ? null : frameOf(above),
      self: 0,
    };
    frames.set(id, frame);
    return frame;
  };
  for (const id of samples) frameOf(id).self += 1;
  return [...frames.values()];
}

function heapFrames({ callFrame, selfSize, children }: HeapNode, parent: Frame | null): Frame[] {
  const { functionName, url, lineNumber } = callFrame;
  const frame = { functionName, url, line: lineNumber + 1, parent, self: selfSize };
  return [frame, ...children.flatMap((child) => heapFrames(child, frame))];
}
