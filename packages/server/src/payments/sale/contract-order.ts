// Chooses the acquirer contract of a sale among those of the merchant: by rules, then by weight (ADR 0034).
import { hash } from 'node:crypto';
import type { AcquirerContract } from '../../provisioning/index.ts';

export type SaleRoutingData = {
  transactionId: string;
  scheme: string;
  currency: string;
  /** Minor units. */
  amount: number;
};

type RoutingRule = AcquirerContract['routing'][number];

export const defaultWeight = 100;

function matches(rule: RoutingRule, sale: SaleRoutingData): boolean {
  const { schemes, currencies, amountFrom = 0, amountTo = Number.MAX_SAFE_INTEGER } = rule;
  if (schemes !== undefined && !schemes.includes(sale.scheme)) return false;
  if (currencies !== undefined && !currencies.includes(sale.currency)) return false;
  return sale.amount >= amountFrom && sale.amount <= amountTo;
}

const randomBytes = 6;
const randomRange = 2 ** (randomBytes * 8);

/** Between 0 and 1, the same for ever for a transaction and a contract. */
function stableRandom(transactionId: string, contractId: string): number {
  const digest = hash('sha256', `${transactionId}|${contractId}`, 'buffer');
  return (digest.readUIntBE(0, randomBytes) + 1) / (randomRange + 1);
}

type RankedContract = { contract: AcquirerContract; tier: number; score: number };

/** Those with a rule that fits, those without rules, and those that only stand by. */
const priorityTiers = { byRule: 0, withoutRules: 1, standby: 2 } as const;

function rankContract(
  contract: AcquirerContract,
  sale: SaleRoutingData,
): RankedContract | undefined {
  const { routing, contractId } = contract;
  if (routing.length === 0) return { contract, tier: priorityTiers.withoutRules, score: 0 };
  const rule = routing.find((each) => matches(each, sale));
  if (rule === undefined) return undefined;
  const { weight = defaultWeight } = rule;
  if (weight === 0) return { contract, tier: priorityTiers.standby, score: 0 };
  // The lowest of these is each contract's with the probability of its weight, and so are the next.
  const score = -Math.log(stableRandom(sale.transactionId, contractId)) / weight;
  return { contract, tier: priorityTiers.byRule, score };
}

/**
 * The contracts that may take a sale, the one to be asked first in front. The same transaction has
 * the same order for ever; contracts of one tier without weights stand in the order of their age.
 *
 * @param contracts of the merchant, enabled, the oldest in front
 */
export function orderContracts(
  contracts: readonly AcquirerContract[],
  sale: SaleRoutingData,
): readonly AcquirerContract[] {
  const [onlyContract] = contracts;
  if (contracts.length === 1 && onlyContract?.routing.length === 0) return contracts;
  return contracts
    .map((contract) => rankContract(contract, sale))
    .filter((ranked) => ranked !== undefined)
    .sort((a, b) => a.tier - b.tier || a.score - b.score)
    .map(({ contract }) => contract);
}
