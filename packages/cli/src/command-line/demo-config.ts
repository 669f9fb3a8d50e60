/** What `demo.json` tells of the demo's terminals and tills, for commands that play them. */
import { join, resolve } from 'node:path';
import { Option } from 'commander';
import { fail } from '../runtime/command-error.ts';
import type { World } from '../runtime/runtime-environment.ts';
import { readNamed } from '../session/private-files.ts';

export type Members = Readonly<Record<string, unknown>>;

export type DemoFile = {
  readonly members: Members;
  /** Of these members, or of those of the file. @throws CommandFault usage */
  text(name: string, of?: Members): string;
  /** Its terminals. */
  readonly devices: readonly (Members & { readonly tsn: string })[];
};

const usualFolder = '.switchyard';

export const membersOf = (value: unknown): Members =>
  typeof value === 'object' && value !== null ? (value as Members) : {};

/** Where the demo has its file: as `npm start` has it, unless somebody says otherwise. */
export const demoFolder = ({ env }: Pick<World, 'env'>, named: string | undefined): string =>
  resolve(named ?? env['SWITCHYARD_DATA_DIR'] ?? usualFolder);

export const demoOption = (): Option =>
  new Option(
    '--demo <folder>',
    'where the demo has its demo.json; left out, SWITCHYARD_DATA_DIR, or .switchyard',
  );

/** @throws CommandFault usage, where there is none or it cannot be read */
export function readDemo(folder: string): DemoFile {
  const file = join(folder, 'demo.json');
  let members: Members;
  try {
    members = membersOf(JSON.parse(readNamed(file)));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return fail('usage', `${file} is no JSON.`);
  }
  const text = (name: string, of: Members = members): string => {
    const value = of[name];
    return typeof value === 'string' ? value : fail('usage', `${file} does not tell ${name}.`);
  };
  const listed = members['devices'];
  const devices = (Array.isArray(listed) ? listed : [])
    .map(membersOf)
    .map((device) => ({ ...device, tsn: text('tsn', device) }));
  return { members, text, devices };
}

/** A terminal by its name or its serial number; left out, the first. */
export function terminalNamed<Device extends { readonly tsn: string }>(
  devices: readonly Device[],
  wanted: string | undefined,
): Device | undefined {
  if (wanted === undefined) return devices[0];
  return devices.find(({ tsn }) => tsn === wanted || tsn.endsWith(`-${wanted}`));
}
