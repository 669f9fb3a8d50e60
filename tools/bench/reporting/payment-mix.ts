// What the payments of the bench are like: which groups and states there are, and how many of a thousand each is.
import { createHash } from 'node:crypto';

export const merchants = 200;
export const storesPerMerchant = 5;
export const devicesPerStore = 4;
export const days = 90;
/** A payment has one of these by a number made of its own; what is rare has one of them. */
export const slots = 20_000;

type Weighted = readonly (readonly [word: string, weight: number])[];

const schemes: Weighted = [
  ['Visa', 45],
  ['Mastercard', 38],
  ['Maestro', 8],
  ['AmericanExpress', 5],
  ['Jcb', 2],
  ['UnionPay', 2],
];
const entryModes: Weighted = [
  ['ContactlessChip', 60],
  ['ContactChip', 28],
  ['Keyed', 10],
  ['MagStripe', 2],
];
const currencies: Weighted = [
  ['EUR', 90],
  ['USD', 8],
  ['JPY', 2],
];

export type PaymentOutcome = 'approved' | 'declined' | 'failed';
type Outcome = {
  readonly category: string;
  readonly reason: string;
  readonly state: string;
  readonly ending: PaymentOutcome;
  readonly weight: number;
};

const outcome = (
  ending: PaymentOutcome,
  category: string,
  reason: string,
  state: string,
  weight: number,
): Outcome => ({ ending, category, reason, state, weight });
const approved = (state: string, weight: number) =>
  outcome('approved', 'Approved', 'Approved', state, weight);
const declined = (category: string, reason: string, weight: number) =>
  outcome('declined', category, reason, 'Declined', weight);

const outcomes: readonly Outcome[] = [
  approved('Captured', 860),
  approved('Authorized', 20),
  approved('PartiallyCaptured', 2),
  approved('PartiallyRefunded', 10),
  approved('Refunded', 15),
  approved('Cancelled', 8),
  approved('Expired', 1),
  declined('SoftDecline', 'InsufficientFunds', 35),
  declined('SoftDecline', 'DoNotHonor', 20),
  declined('SoftDecline', 'InvalidPin', 8),
  declined('HardDecline', 'ExpiredCard', 6),
  declined('HardDecline', 'SuspectedFraud', 3),
  declined('HardDecline', 'LostCard', 1),
  declined('TechnicalFailure', 'IssuerUnavailable', 5),
  outcome('failed', 'TechnicalFailure', 'AcquirerUnavailable', 'Failed', 4),
  outcome('failed', 'TechnicalFailure', 'Timeout', 'Reversed', 2),
];

export type PlannedClass = Outcome & {
  readonly classId: number;
  readonly groupId: number;
  readonly scheme: string;
  readonly entryMode: string;
  readonly currency: string;
};

/** Every one that there can be. */
export function plannedClasses(): PlannedClass[] {
  const groups = new Map<string, number>();
  const classes: PlannedClass[] = [];
  for (const [scheme, ofScheme] of schemes) {
    for (const [entryMode, ofEntry] of entryModes) {
      for (const [currency, ofCurrency] of currencies) {
        for (const outcome of outcomes) {
          const text = [scheme, entryMode, currency, outcome.category, outcome.reason].join('|');
          const groupId = groups.get(text) ?? groups.size + 1;
          groups.set(text, groupId);
          const weight = ofScheme * ofEntry * ofCurrency * outcome.weight;
          const classId = classes.length + 1;
          classes.push({ ...outcome, classId, groupId, scheme, entryMode, currency, weight });
        }
      }
    }
  }
  return classes;
}

/** The class of each slot: in the measure of their weights, one at least. */
export function slotsOfClasses(classes: readonly PlannedClass[]): number[] {
  const total = classes.reduce((sum, { weight }) => sum + weight, 0);
  const remaining = slots - classes.length;
  const slotClasses = classes.flatMap(({ classId, weight }) =>
    Array.from({ length: 1 + Math.floor((remaining * weight) / total) }, () => classId),
  );
  const most = classes.reduce((one, other) => (other.weight > one.weight ? other : one));
  return [
    ...slotClasses,
    ...Array.from({ length: slots - slotClasses.length }, () => most.classId),
  ];
}

/** As `md5(…)::uuid` makes it in the database. */
export function reportingId(kind: 'm' | 's' | 'd' | 'c', number: number): string {
  const hex = createHash('md5').update(`${kind}${number}`).digest('hex');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

export const paymentReference = (number: number): string => String(number).padStart(12, '0');
