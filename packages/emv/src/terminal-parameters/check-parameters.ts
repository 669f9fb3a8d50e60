/** Rules of EMV terminal parameters that a schema cannot express. */
import { caKeyFaults } from './check-ca-key.ts';

/**
 * A fault of terminal parameters, with the place of the value (RFC 6901).
 *
 * @example
 * const fault: TerminalParameterFault = { pointer: '/caKeys/A000000003-92/sha1', detail: '…' };
 */
export type TerminalParameterFault = { readonly pointer: string; readonly detail: string };

type Values = Readonly<Record<string, unknown>>;
type Rule = (values: Values, allowsTestKeys: boolean) => TerminalParameterFault[];

const isValues = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const valuesOf = (value: unknown): Values => (isValues(value) ? value : {});
const entriesOf = (value: unknown) =>
  Object.entries(valuesOf(value)).map(([name, entry]): [string, Values] => [name, valuesOf(entry)]);
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** Of the European Economic Area, where the cardholder chooses (EU 2015/751, article 8, 6). */
const economicArea: ReadonlySet<string> = new Set(
  (
    '040 056 100 191 196 203 208 233 246 250 276 300 348 352 372 380 428 438 440 442 470 528 578 ' +
    '616 620 642 703 705 724 752'
  ).split(' '),
);

/** The bits of the second byte of the terminal capabilities (EMV Book 4, annex A2). */
const capabilityBits: Readonly<Record<string, number>> = {
  OfflinePlaintextPin: 0x80,
  OnlinePin: 0x40,
  Signature: 0x20,
  OfflineEncipheredPin: 0x10,
  NoCvm: 0x08,
};

const wholeBytes: Rule = ({ applications }) =>
  entriesOf(applications).flatMap(([aid, application]) => {
    const pointer = `/applications/${aid}`;
    const lists = ['defaultDdol', 'defaultTdol'].filter(
      (member) => String(application[member] ?? '').length % 2 === 1,
    );
    return [
      ...(aid.length % 2 === 0 ? [] : [{ pointer, detail: 'is not named by whole bytes' }]),
      ...lists.map((member) => ({ pointer: `${pointer}/${member}`, detail: 'is no whole bytes' })),
    ];
  });

const keys: Rule = ({ caKeys }, allowsTestKeys) =>
  entriesOf(caKeys).flatMap(([name, key]) =>
    caKeyFaults(name, key, allowsTestKeys).map(({ member, detail }) => ({
      pointer: `/caKeys/${name}/${member}`,
      detail,
    })),
  );

/** The pairs of members of which the first must not be more than the second. */
const orders: readonly (readonly [string, string, string])[] = [
  ['contact', 'randomSelectionThresholdMinor', 'floorLimitMinor'],
  ['contact', 'randomSelectionTargetPercent', 'randomSelectionMaximumTargetPercent'],
  ['contactless', 'floorLimitMinor', 'transactionLimitMinor'],
  ['contactless', 'transactionLimitMinor', 'transactionLimitOnDeviceMinor'],
];

const limits: Rule = ({ applications }) =>
  entriesOf(applications).flatMap(([aid, application]) =>
    orders.flatMap(([part, lower, upper]) => {
      const { [lower]: low, [upper]: high } = valuesOf(application[part]);
      if (typeof low !== 'number' || typeof high !== 'number' || low <= high) return [];
      const pointer = `/applications/${aid}/${part}/${lower}`;
      return [{ pointer, detail: `is more than ${upper}` }];
    }),
  );

const priorities: Rule = ({ applications }) => {
  const aidByPriority = new Map<unknown, string>();
  return entriesOf(applications).flatMap(([aid, { isEnabled, priority }]) => {
    if (isEnabled === false || priority === undefined) return [];
    const first = aidByPriority.get(priority);
    if (first === undefined) aidByPriority.set(priority, aid);
    const pointer = `/applications/${aid}/priority`;
    return first === undefined ? [] : [{ pointer, detail: `is the priority of ${first} too` }];
  });
};

/** An application whose every method is out of reach of the terminal ends each transaction. */
const verification: Rule = ({ applications, terminal }) => {
  const { terminalCapabilities } = valuesOf(terminal);
  if (typeof terminalCapabilities !== 'string') return [];
  const capable = Number.parseInt(terminalCapabilities.slice(2, 4), 16);
  return entriesOf(applications).flatMap(([aid, { isEnabled, cvmMethods }]) => {
    if (isEnabled === false || !Array.isArray(cvmMethods)) return [];
    const canDo = cvmMethods.some((name) => (capable & (capabilityBits[String(name)] ?? 0)) !== 0);
    const pointer = `/applications/${aid}/cvmMethods`;
    return canDo ? [] : [{ pointer, detail: 'names nothing that the terminal is capable of' }];
  });
};

const coBrands: Rule = ({ coBrandRules, applications, terminal }) => {
  const { countryCode } = valuesOf(terminal);
  const knownApplications = valuesOf(applications);
  const ranges: [string, string][] = [];
  return listOf(coBrandRules).flatMap((entry, at) => {
    const { binFrom, binTo, applications: aids, isCardholderChoice } = valuesOf(entry);
    const [from, to] = [String(binFrom), String(binTo)];
    const faults: TerminalParameterFault[] = [];
    const requireThat = (holds: boolean, member: string, detail: string) => {
      if (!holds) faults.push({ pointer: `/coBrandRules/${at}/${member}`, detail });
    };
    requireThat(
      from.length === to.length && from <= to,
      'binTo',
      'does not end a range from binFrom',
    );
    // Compared as ranges of eight digits.
    const [low, high] = [from.padEnd(8, '0'), to.padEnd(8, '9')];
    const isFree = ranges.every(([first, last]) => high < first || low > last);
    requireThat(isFree, 'binFrom', 'lies in the range of another rule');
    ranges.push([low, high]);
    for (const [place, aid] of listOf(aids).entries()) {
      const isKnown = Object.hasOwn(knownApplications, String(aid));
      requireThat(isKnown, `applications/${place}`, 'is no application of these parameters');
    }
    const mayDecide = isCardholderChoice !== false || !economicArea.has(String(countryCode));
    requireThat(mayDecide, 'isCardholderChoice', 'is not the merchant’s to refuse in the EEA');
    return faults;
  });
};

const rules: readonly Rule[] = [wholeBytes, keys, limits, priorities, verification, coBrands];

/**
 * The faults of values that match the schema. Values of another form have no fault here: they
 * have one of the schema.
 *
 * @param values - the effective values, as they are merged
 * @param options - `allowsTestKeys` is false in production
 * @returns every fault, none for parameters that a terminal can work with
 * @example
 * terminalParameterFaults(values, { allowsTestKeys: false }).length === 0;
 */
export function terminalParameterFaults(
  values: Readonly<Record<string, unknown>>,
  { allowsTestKeys }: { readonly allowsTestKeys: boolean },
): readonly TerminalParameterFault[] {
  return rules.flatMap((rule) => rule(values, allowsTestKeys));
}
