// The words of the configuration: levels, what each has set, and what that comes to.
import type { ActivationLevel, FieldError } from '@switchyard/contract';

export type Values = Readonly<Record<string, unknown>>;

/** From the top; what the provider gives with the release stands above all organisations. */
export type ConfigurationLevel = 'Service' | ActivationLevel;

/** Where in the line above and at an entity something was set. */
export type LevelRef = { readonly level: ConfigurationLevel; readonly entityId: string };

/** Secrets by their pointers. */
export type Secrets = Readonly<Record<string, string>>;

/** What one level has set. */
export type LevelValues = LevelRef & {
  readonly version: number;
  /** Without secrets; undefined where nothing is set, or not any more. */
  readonly values: Values | undefined;
  readonly secrets: Secrets;
};

/** What is in force of a service. */
export type Release = {
  readonly serviceId: string;
  readonly name: string;
  readonly domain: string;
  readonly release: number;
  readonly schema?: Values;
  /** The same without what it demands. */
  readonly relaxed?: Values;
  readonly defaults: Values;
};

/** What is stored and does not fit the release in force, or is missing; without a level: as a whole. */
export type Misfit = FieldError & Partial<LevelRef>;

/**
 * What no schema can say, by the domain of the service: faults of merged values, which may be of any
 * form; pointers begin at the values.
 */
export type ValueRules = Readonly<Record<string, (values: Values) => readonly FieldError[]>>;
