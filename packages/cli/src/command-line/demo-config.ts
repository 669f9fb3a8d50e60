/** Reads `demo.json`, which a running demo writes: its terminals and points of sale. */
import { join, resolve } from 'node:path';
import { fail } from '../runtime/command-error.ts';
import type { RuntimeEnvironment } from '../runtime/runtime-environment.ts';
import { readInputFile } from '../session/private-files.ts';
import { option } from './command-option.ts';

export type Members = Readonly<Record<string, unknown>>;

export type DemoConfig = {
  readonly members: Members;
  /** A text member of `source`; by default of the file. @throws CommandError usage */
  text(name: string, source?: Members): string;
  /** The terminals of the demo. */
  readonly devices: readonly (Members & { readonly tsn: string })[];
};

const defaultFolder = '.switchyard';

export const membersOf = (value: unknown): Members =>
  typeof value === 'object' && value !== null ? (value as Members) : {};

/** The folder of demo.json: by default the data directory of `npm start`. */
export const demoFolder = (
  { env }: Pick<RuntimeEnvironment, 'env'>,
  folderOption: string | undefined,
): string => resolve(folderOption ?? env['SWITCHYARD_DATA_DIR'] ?? defaultFolder);

export const demoOption = option(
  '--demo <folder>',
  'folder of the demo’s demo.json; default: SWITCHYARD_DATA_DIR, else .switchyard',
);

export const tsnOption = option(
  '--tsn <tsn>',
  'terminal serial number (TSN) or serial number of the terminal; default: the first',
);

/** @throws CommandError usage, if the file does not exist or cannot be read */
export function readDemoConfig(folder: string): DemoConfig {
  const file = join(folder, 'demo.json');
  let members: Members;
  try {
    members = membersOf(JSON.parse(readInputFile(file)));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return fail('usage', `${file} does not contain valid JSON.`);
  }
  const text = (name: string, source: Members = members): string => {
    const value = source[name];
    return typeof value === 'string'
      ? value
      : fail('usage', `${file} has no text member “${name}”. Start the demo again: npm start`);
  };
  const deviceList = members['devices'];
  const devices = (Array.isArray(deviceList) ? deviceList : [])
    .map(membersOf)
    .map((device) => ({ ...device, tsn: text('tsn', device) }));
  return { members, text, devices };
}

/** The terminal with this terminal serial number or serial number; by default the first. */
export function findTerminal<Device extends { readonly tsn: string }>(
  devices: readonly Device[],
  requested: string | undefined,
): Device | undefined {
  if (requested === undefined) return devices[0];
  return devices.find(({ tsn }) => tsn === requested || tsn.endsWith(`-${requested}`));
}
