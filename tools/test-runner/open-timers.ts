// Which timers keep a process alive: Node tells how many there are, and not whose.
import { Session } from 'node:inspector';

const textMax = 160;

/** What is asked of all timers of the heap at once, inside the engine. */
const tell = `function () {
  return this
    .filter((timer) => timer.hasRef() && !timer._destroyed)
    .map(({ _idleTimeout, _repeat, _onTimeout }) => {
      const text = String(_onTimeout).replace(/\\s+/g, ' ').slice(0, ${textMax});
      return (_repeat === null ? 'after ' : 'every ') + _idleTimeout + ' ms: ' + text;
    });
}`;

type Answer = { objects: { objectId?: string } };
type Told = { result: { value?: unknown } };

/**
 * Each with its time and the beginning of its function. It walks through the whole heap: for a process that hangs.
 *
 * @example openTimers(); // ['every 500 ms: () => look()']
 */
export function openTimers(): string[] {
  const session = new Session();
  session.connect();
  let told: unknown;
  const sample = setTimeout(() => {}, 0);
  clearTimeout(sample);
  const place = globalThis as { timerPrototype?: unknown };
  place.timerPrototype = Object.getPrototypeOf(sample);
  try {
    // Of one thread all answers come before `post` returns.
    session.post('Runtime.evaluate', { expression: 'timerPrototype' }, (_fault, prototype) => {
      const { objectId: prototypeObjectId } = prototype.result;
      if (prototypeObjectId === undefined) return;
      session.post('Runtime.queryObjects', { prototypeObjectId }, (_missing, found) => {
        const { objectId } = (found as Answer).objects;
        if (objectId === undefined) return;
        const asked = { objectId, functionDeclaration: tell, returnByValue: true };
        session.post('Runtime.callFunctionOn', asked, (_refused, answer) => {
          told = (answer as Told).result.value;
        });
      });
    });
  } finally {
    delete place.timerPrototype;
    session.disconnect();
  }
  return Array.isArray(told) ? told.map(String) : [];
}
