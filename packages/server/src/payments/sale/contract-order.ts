// Chooses the acquirer contract of a sale among those of the merchant: by rules, then by weight (ADR 0034).
import { hash } from 'node:crypto';
import type { AcquirerContract } from '../../provisioning/index.ts';

export type RoutedSale = {
  transactionId: string;
  scheme: string;
  currency: string;
  /** Minor units. */
  amount: number;
};

type Rule = AcquirerContract['routing'][number];

export const defaultWeight = 100;

function matches(rule: Rule, sale: RoutedSale): boolean {
  const { schemes, currencies, amountFrom = 0, amountTo = Number.MAX_SAFE_INTEGER } = rule;
  if (schemes !== undefined && !schemes.includes(sale.scheme)) return false;
  if (currencies !== undefined && !currencies.includes(sale.currency)) return false;
  return sale.amount >= amountFrom && sale.amount <= amountTo;
}

const sampleBytes = 6;
const samples = 2 ** (sampleBytes * 8);

/** Between 0 and 1, the same for ever for a transaction and a contract. */
function shareOf(transactionId: string, contractId: string): number {
  const digest = hash('sha256', `${transactionId}|${contractId}`, 'buffer');
  return (digest.readUIntBE(0, sampleBytes) + 1) / (samples + 1);
}

type Ranked = { contract: AcquirerContract; tier: number; score: number };

/** Those with a rule that fits, those without rules, and those that only stand by. */
const tiers = { byRule: 0, withoutRules: 1, standby: 2 } as const;

function rankOf(contract: AcquirerContract, sale: RoutedSale): Ranked | undefined {
  const { routing, contractId } = contract;
  if (routing.length === 0) return { contract, tier: tiers.withoutRules, score: 0 };
  const rule = routing.find((each) => matches(each, sale));
  if (rule === undefined) return undefined;
  const { weight = defaultWeight } = rule;
  if (weight === 0) return { contract, tier: tiers.standby, score: 0 };
  // The lowest of these is each contract's with the probability of its weight, and so are the next.
  const score = -Math.log(shareOf(sale.transactionId, contractId)) / weight;
  return { contract, tier: tiers.byRule, score };
}

/**
 * The contracts that may take a sale, the one to be asked first in front. The same transaction has
 * the same order for ever; contracts of one tier without weights stand in the order of their age.
 *
 * @param contracts of the merchant, enabled, the oldest in front
 */
export function routesOf(
  contracts: readonly AcquirerContract[],
  sale: RoutedSale,
): readonly AcquirerContract[] {
  const [only] = contracts;
  if (contracts.length === 1 && only?.routing.length === 0) return contracts;
  return contracts
    .map((contract) => rankOf(contract, sale))
    .filter((ranked) => ranked !== undefined)
    .sort((a, b) => a.tier - b.tier || a.score - b.score)
    .map(({ contract }) => contract);
}
