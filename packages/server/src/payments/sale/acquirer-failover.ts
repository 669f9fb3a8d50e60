// Sends a sale along its routes: to the next one only where nothing of it was sent (ADR 0034).
import { Refusal } from '@switchyard/contract';
import type { AcquirerOutcome } from '../../acquiring/index.ts';
import { isoTime } from '../../platform/index.ts';
import type { AcquirerContract } from '../../provisioning/index.ts';
import type { PaymentsDeps } from '../deps.ts';
import { settlementFactsOf } from '../transaction/contract-terms.ts';
import { overCaptureOf } from '../transaction/state-machine.ts';
import type { SaleFacts, StoredEvent, TransactionRow } from '../transaction/transaction.ts';
import type { Intent } from './authorize-sale.ts';

/** Sends one intent; calls `onSent` once any of it may have left. */
export type Send = (intent: Intent, onSent: () => void) => Promise<AcquirerOutcome>;

/** The same sale under another contract: who is asked, and as whom, and nothing of the rest. */
async function factsUnder(
  deps: PaymentsDeps,
  { facts, loaded }: Intent,
  contract: AcquirerContract,
): Promise<SaleFacts> {
  const { organizationId, deviceId } = loaded.row;
  const reference = await deps.acquiring.nextReference({
    organizationId,
    contractId: contract.contractId,
    holderId: deviceId ?? contract.contractId,
    range: contract.terminalIdRange,
    kind: facts.kind,
    timeZone: facts.timeZone,
  });
  const { captureTransport: _transport, cutOverTime: _cutOver, ...kept } = facts;
  // How long the hold lasts was made durable with the intent, and stays.
  const { holdDays: _days, ...settlement } = settlementFactsOf(facts.kind, contract);
  return {
    ...kept,
    ...settlement,
    linkId: contract.acquirerLink,
    merchantNumber: contract.acquirerMerchantId,
    mcc: contract.mcc,
    reference,
  };
}

/** As `reroute`; where no new way can be made durable, nothing was sent, and that is what is told. */
async function rerouteIfPossible(
  deps: PaymentsDeps,
  intent: Intent,
  contract: AcquirerContract,
): Promise<Intent | undefined> {
  try {
    return await reroute(deps, intent, contract);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { transactionId } = intent.loaded.row;
    deps.log.warn({ err: error, transactionId }, 'a sale could not go another way');
    return undefined;
  }
}

/** The intent once its new way is durable; undefined where the sale was given up meanwhile. */
async function reroute(
  deps: PaymentsDeps,
  intent: Intent,
  contract: AcquirerContract,
): Promise<Intent | undefined> {
  const { loaded } = intent;
  const facts = await factsUnder(deps, intent, contract);
  const before = loaded.row;
  const version = before.version + 1;
  const at = isoTime(deps.clock.now());
  const event: StoredEvent = {
    sequence: version,
    type: 'transaction.rerouted',
    at,
    data: { state: 'Received', changes: {}, reason: 'NotSent', facts },
  };
  const row: TransactionRow = {
    ...before,
    contractId: contract.contractId,
    overCapture: overCaptureOf(before.amount, contract.overCapturePercent),
    version,
    updatedAt: at,
  };
  if (!(await deps.reroutes.commit(before, row, event))) return undefined;
  return { ...intent, facts, loaded: { ...loaded, row, events: [...loaded.events, event] } };
}

function isInTime(deps: PaymentsDeps, { loaded }: Intent): boolean {
  return deps.clock.now() <= loaded.row.deadline - deps.acquirerTimeoutMs;
}

/**
 * Sends a sale, and along its next routes for as long as nothing of it has left; each new way is
 * durable before anything goes along it, so that whatever follows goes the same way.
 *
 * @returns the outcome, and the intent as it was sent last
 */
export async function sendAlongRoutes(
  deps: PaymentsDeps,
  first: Intent,
  send: Send,
): Promise<{ intent: Intent; outcome: AcquirerOutcome }> {
  let hasLeft = false;
  const onSent = () => {
    hasLeft = true;
  };
  let intent = first;
  let outcome = await send(intent, onSent);
  // The PIN is under the key of the first link: no other acquirer could open it.
  const others = first.card.sensitive?.pin === undefined ? (first.others ?? []) : [];
  for (const contract of others) {
    if (outcome.outcome !== 'NotSent' || hasLeft || !isInTime(deps, intent)) break;
    const { acquirerLink } = contract;
    if (acquirerLink === intent.facts.linkId || !deps.acquiring.available(acquirerLink)) continue;
    const rerouted = await rerouteIfPossible(deps, intent, contract);
    if (rerouted === undefined) break;
    const { linkId } = intent.facts;
    const { transactionId } = intent.loaded.row;
    deps.log.warn({ transactionId, from: linkId, to: acquirerLink }, 'a sale goes another way');
    intent = rerouted;
    deps.failPoints.hit('after-reroute');
    outcome = await send(intent, onSent);
  }
  return { intent, outcome };
}
