// Writes down what the dialogue knows, and decides what becomes of a service where the disk takes nothing.
import {
  type AnyMessage,
  failureTo,
  type Header,
  type PoiDecision,
  type PoiDialogue,
} from '@switchyard/nexo';
import type { ServiceContext } from '../context/service-context.ts';
import { errorEvent } from '../context/terminal-events.ts';
import { findInterruptedService, nothingPending } from '../storage/terminal-store.ts';

/** What cannot be written down is not begun, and keeps nobody else from being served. */
export function saveDialogue(
  { store, now, emit }: ServiceContext,
  poi: PoiDialogue,
  decision: PoiDecision,
): PoiDecision {
  try {
    store.update({ dialogue: poi.memory() });
    return decision;
  } catch (error) {
    emit(errorEvent(error));
  }
  if (decision.do !== 'Run') return decision;
  const facts = {
    at: new Date(now()).toISOString(),
    additional: 'storage_failed',
  } as const;
  const message = failureTo(decision.message, 'UnavailableService', facts);
  if (message === undefined) return { do: 'Ignore', reason: facts.additional };
  poi.finish(message);
  return { do: 'Answer', message };
}

/** Something of it may be done: an error that nobody foresaw is no answer to it, and a new start finds out. */
export function mayHaveEffect(
  { store, runtime }: ServiceContext,
  poi: PoiDialogue,
  header: Header,
): boolean {
  if (poi.running() !== header || runtime.isRecovering) return false;
  return findInterruptedService(store.read()) !== undefined;
}

/**
 * Ends a service. False where its answer cannot be written down: it is not told then, and a new start finds out.
 *
 * @param isMain - beside the service that runs, nothing is done that has to be remembered
 */
export function finishService(
  { store, runtime, emit }: ServiceContext,
  poi: PoiDialogue,
  { answer, isMain }: { readonly answer: AnyMessage; readonly isMain: boolean },
): boolean {
  poi.finish(answer);
  if (!isMain) return true;
  try {
    store.update({ dialogue: poi.memory(), ...(runtime.isRecovering ? {} : nothingPending) });
    return true;
  } catch (error) {
    emit(errorEvent(error));
    return false;
  }
}
