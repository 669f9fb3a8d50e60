// Lists the timers that keep a process alive; Node itself reports only their number.
import { Session } from 'node:inspector';

const textMax = 160;

/** A function that the engine runs over all timers of the heap. */
const describeTimers = `function () {
  return this
    .filter((timer) => timer.hasRef() && !timer._destroyed)
    .map(({ _idleTimeout, _repeat, _onTimeout }) => {
      const text = String(_onTimeout).replace(/\\s+/g, ' ').slice(0, ${textMax});
      return (_repeat === null ? 'after ' : 'every ') + _idleTimeout + ' ms: ' + text;
    });
}`;

type Answer = { objects: { objectId?: string } };
type EvaluationResult = { result: { value?: unknown } };

/**
 * Each with its time and the beginning of its function. It walks through the whole heap: for a process that hangs.
 *
 * @example openTimers(); // ['every 500 ms: () => look()']
 */
export function openTimers(): string[] {
  const session = new Session();
  session.connect();
  let descriptions: unknown;
  const sample = setTimeout(() => {}, 0);
  clearTimeout(sample);
  const globals = globalThis as { timerPrototype?: unknown };
  globals.timerPrototype = Object.getPrototypeOf(sample);
  try {
    // Of one thread all answers come before `post` returns.
    session.post('Runtime.evaluate', { expression: 'timerPrototype' }, (_fault, prototype) => {
      const { objectId: prototypeObjectId } = prototype.result;
      if (prototypeObjectId === undefined) return;
      session.post('Runtime.queryObjects', { prototypeObjectId }, (_missing, response) => {
        const { objectId } = (response as Answer).objects;
        if (objectId === undefined) return;
        const callParameters = {
          objectId,
          functionDeclaration: describeTimers,
          returnByValue: true,
        };
        session.post('Runtime.callFunctionOn', callParameters, (_refused, answer) => {
          descriptions = (answer as EvaluationResult).result.value;
        });
      });
    });
  } finally {
    delete globals.timerPrototype;
    session.disconnect();
  }
  return Array.isArray(descriptions) ? descriptions.map(String) : [];
}
