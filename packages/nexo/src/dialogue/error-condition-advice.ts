/** The meaning of results, error conditions and events for the sale system. */
import type { AnyMessage } from '../messages/message.ts';
import type { Structure } from '../table/structures.ts';
import type { openSets } from '../table/value-sets.ts';

/**
 * Whether money may have moved after an answer, and the next action of the sale system.
 *
 * - `advice`: `New` send a new request when the cause is gone, `Later` the same again after a while, `Ask` the
 *   outcome is open and must be requested, `Never` not again with this card or content, `Login`
 *   first, `Call` a person must check the terminal or configuration
 *
 * Source: nexo Sale to POI 3.0, `ErrorConditionType`; the advice is ADR 0049.
 *
 * @example
 * const { meaning, advice }: ConditionFacts = conditionFacts('Busy');
 */
export type ConditionFacts = {
  readonly meaning: string;
  readonly advice: 'New' | 'Later' | 'Ask' | 'Never' | 'Login' | 'Call';
};

type KnownCondition = (typeof openSets)['ErrorCondition'][number];

/**
 * The seventeen error conditions.
 *
 * Source: nexo Sale to POI 3.0, `ErrorConditionType`; public documentation of the Terminal API, "Handle
 * responses".
 *
 * @example
 * errorConditions.InProgress.advice; // 'Ask'
 */
export const errorConditions: Readonly<Record<KnownCondition, ConditionFacts>> = {
  Aborted: { meaning: 'ended by an abort request or by the cashier', advice: 'New' },
  Busy: { meaning: 'the terminal does something else', advice: 'Later' },
  Cancel: { meaning: 'ended by the customer', advice: 'New' },
  DeviceOut: {
    meaning: 'a device of the terminal does not work, such as its printer',
    advice: 'Call',
  },
  InProgress: { meaning: 'the requested transaction has not ended', advice: 'Ask' },
  InsertedCard: { meaning: 'a card was left in the reader', advice: 'New' },
  InvalidCard: { meaning: 'the card cannot be used here', advice: 'Never' },
  LoggedOut: { meaning: 'the sale system has to log in', advice: 'Login' },
  MessageFormat: { meaning: 'the message was not understood', advice: 'Never' },
  NotAllowed: { meaning: 'not in this state, or not by this configuration', advice: 'Never' },
  NotFound: { meaning: 'the transaction that was named is not known', advice: 'Never' },
  PaymentRestriction: { meaning: 'goods may not be paid by this card', advice: 'Never' },
  Refusal: { meaning: 'refused by the issuer, the acquirer or the card', advice: 'Never' },
  UnavailableDevice: { meaning: 'there is no such terminal or device', advice: 'Call' },
  UnavailableService: { meaning: 'the terminal does not do this', advice: 'Call' },
  UnreachableHost: { meaning: 'the acquirer was not reached; nothing was taken', advice: 'Later' },
  WrongPIN: { meaning: 'the PIN was wrong too often', advice: 'Never' },
};

/**
 * The facts of an error condition. An unknown condition advises the operator to check the terminal.
 *
 * Source: nexo Sale to POI 3.0, `ErrorConditionType`; the advice is ADR 0049.
 *
 * @param condition - an `ErrorCondition`, known or not
 * @returns meaning and advice
 * @example
 * conditionFacts('Refusal').advice; // 'Never'
 */
export function conditionFacts(condition: string): ConditionFacts {
  if (!Object.hasOwn(errorConditions, condition)) {
    return { meaning: 'a condition that is not in the protocol', advice: 'Call' };
  }
  return errorConditions[condition as KnownCondition];
}

/**
 * The result in a response, wherever its category keeps it: of several outputs the first that failed.
 *
 * Source: nexo Sale to POI 3.0, `Response` and the bodies that hold it.
 *
 * @param message - a response
 * @returns result and condition, or undefined where there is none
 * @example
 * resultOf(message)?.Result; // 'Failure'
 */
export function resultOf({ body }: AnyMessage): Structure<'Response'> | undefined {
  const direct = body['Response'] as Structure<'Response'> | undefined;
  if (direct !== undefined) return direct;
  const input = body['InputResult'] as Structure<'InputResult'> | undefined;
  if (input !== undefined) return input.Response;
  const outputs = body['OutputResult'] as readonly Structure<'OutputResult'>[] | undefined;
  const failed = outputs?.find(({ Response }) => Response.Result !== 'Success');
  return (failed ?? outputs?.[0])?.Response;
}

const availability: Readonly<Record<string, boolean>> = {
  BeginMaintenance: false,
  EndMaintenance: true,
  Shutdown: false,
  Initialised: true,
  OutOfOrder: false,
  NetworkConnected: true,
  NetworkDisconnected: false,
};

/**
 * The availability of the terminal after an event.
 *
 * Source: nexo Sale to POI 3.0, `EventToNotifyType`.
 *
 * @param event - an `EventToNotify`, known or not
 * @returns whether the terminal accepts services now; undefined where the event does not show it
 * @example
 * availabilityAfterEvent('BeginMaintenance'); // false
 * availabilityAfterEvent('CardInserted'); // undefined
 */
export function availabilityAfterEvent(event: string): boolean | undefined {
  return Object.hasOwn(availability, event) ? availability[event] : undefined;
}
