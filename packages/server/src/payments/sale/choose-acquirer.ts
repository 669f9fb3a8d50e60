// Chooses the acquirer contract of a sale: by rules, then by weight, then the first that is reachable (ADR 0034).
import { hash } from 'node:crypto';
import { ProblemError, type ProcessRequest, throwProblem } from '@switchyard/contract';
import type { Acquiring } from '../../acquiring/index.ts';
import { bucketOf, type Ids } from '../../platform/index.ts';
import type { AcquirerContract, SaleEntities } from '../../provisioning/index.ts';
import { checkContractTerms, chooseCaptureMode } from '../validation/check-sale-terms.ts';

export type RoutedSale = {
  transactionId: string;
  /** With the contract that is used first. */
  resolved: SaleEntities;
  failoverContracts: readonly AcquirerContract[];
};

export type ChooseAcquirerPorts = {
  acquiring: Pick<Acquiring, 'getZonePinKey' | 'isLinkAvailable'>;
  ids: Ids;
};

/**
 * Chooses among the contracts of the merchant. When no contract accepts the sale, the preferred one stays,
 * so that its refusal is the answer.
 *
 * @throws ProblemError no_acquirer_for_merchant when no rule of any contract matches
 */
export function chooseAcquirer(
  { acquiring, ids }: ChooseAcquirerPorts,
  resolved: SaleEntities,
  { request, scheme }: { request: ProcessRequest; scheme: string },
): RoutedSale {
  const transactionId = ids.uuid(bucketOf(resolved.merchant.merchantId));
  const { contracts, contract } = resolved;
  if (contracts.length === 1 && contract.routing.length === 0) {
    return { transactionId, resolved, failoverContracts: [] };
  }
  const { amount, currency, pinblock } = request;
  const routes = orderContracts(contracts, { transactionId, scheme, amount, currency });
  const [preferred] = routes;
  if (preferred === undefined) {
    const detail = 'No acquirer contract of the merchant accepts this sale.';
    return throwProblem('no_acquirer_for_merchant', detail);
  }
  const acceptsPin = ({ acquirerLink }: AcquirerContract) =>
    pinblock === undefined || acquiring.getZonePinKey(acquirerLink) !== undefined;
  const accepting = routes.filter((route) => acceptsPin(route) && acceptsSale(route, request));
  const reachable = accepting.find(({ acquirerLink }) => acquiring.isLinkAvailable(acquirerLink));
  const chosen = reachable ?? accepting[0] ?? preferred;
  const mode = chooseCaptureMode(request, chosen);
  const failoverContracts = accepting.filter(
    (route) => route !== chosen && chooseCaptureMode(request, route) === mode,
  );
  return { transactionId, resolved: { ...resolved, contract: chosen }, failoverContracts };
}

function acceptsSale(contract: AcquirerContract, request: ProcessRequest): boolean {
  try {
    checkContractTerms(request, contract);
    return true;
  } catch (error) {
    if (error instanceof ProblemError) return false;
    throw error;
  }
}

export type SaleRoutingData = {
  /** The share of each contract is drawn from it. */
  transactionId: string;
  scheme: string;
  currency: string;
  /** Minor units. */
  amount: number;
};

/**
 * The contracts that may take a sale, the preferred one first. The order is the same each time for one
 * transaction; contracts of one tier without weights are in the order of their age.
 *
 * @param contracts of the merchant, enabled, the oldest first
 */
export function orderContracts(
  contracts: readonly AcquirerContract[],
  sale: SaleRoutingData,
): readonly AcquirerContract[] {
  return contracts
    .map((contract) => rankContract(contract, sale))
    .filter((ranked) => ranked !== undefined)
    .sort((a, b) => a.tier - b.tier || a.score - b.score)
    .map(({ contract }) => contract);
}

type RoutingRule = AcquirerContract['routing'][number];

const defaultWeight = 100;

function matches(rule: RoutingRule, sale: SaleRoutingData): boolean {
  const { schemes, currencies, amountFrom = 0, amountTo = Number.MAX_SAFE_INTEGER } = rule;
  if (schemes !== undefined && !schemes.includes(sale.scheme)) return false;
  if (currencies !== undefined && !currencies.includes(sale.currency)) return false;
  return sale.amount >= amountFrom && sale.amount <= amountTo;
}

const randomBytes = 6;
const randomRange = 2 ** (randomBytes * 8);

/** Between 0 and 1, always the same for a transaction and a contract. */
function stableRandom(transactionId: string, contractId: string): number {
  const digest = hash('sha256', `${transactionId}|${contractId}`, 'buffer');
  return (digest.readUIntBE(0, randomBytes) + 1) / (randomRange + 1);
}

const priorityTiers = { byRule: 0, withoutRules: 1, standby: 2 } as const;

function rankContract(contract: AcquirerContract, sale: SaleRoutingData) {
  const { routing, contractId } = contract;
  if (routing.length === 0) return { contract, tier: priorityTiers.withoutRules, score: 0 };
  const rule = routing.find((each) => matches(each, sale));
  if (rule === undefined) return undefined;
  const { weight = defaultWeight } = rule;
  if (weight === 0) return { contract, tier: priorityTiers.standby, score: 0 };
  // Weighted random order: the lowest score is each contract's with the probability of its weight.
  const score = -Math.log(stableRandom(sale.transactionId, contractId)) / weight;
  return { contract, tier: priorityTiers.byRule, score };
}
