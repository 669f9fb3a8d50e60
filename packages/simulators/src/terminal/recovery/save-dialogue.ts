// Stores the state of the dialogue, and decides how a service continues where the disk is full.
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

/** A request that cannot be stored is not started and does not block later requests. */
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

/** Whether a service may have had an effect: after an unexpected error only a restart can find its outcome. */
export function mayHaveEffect(
  { store, runtime }: ServiceContext,
  poi: PoiDialogue,
  header: Header,
): boolean {
  if (poi.running() !== header || runtime.isRecovering) return false;
  return findInterruptedService(store.read()) !== undefined;
}

/**
 * Ends a service. False where its answer cannot be stored: the terminal then restarts and finds the outcome.
 *
 * @param isMain - false for a message beside the running service, which needs no stored state
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
