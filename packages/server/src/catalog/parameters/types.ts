// Types of the configuration: levels, the values of each level, and the merged result.
import type { ActivationLevel, FieldError } from '@switchyard/contract';

export type ParameterValues = Readonly<Record<string, unknown>>;

/**
 * From the top. Above all organisations, `Service` holds the defaults of the provider's release.
 */
export type ConfigurationLevel = 'Service' | ActivationLevel;

/** The level and the entity at which a value is set. */
export type LevelReference = { readonly level: ConfigurationLevel; readonly entityId: string };

/** Secrets by their JSON pointers. */
export type SecretsByPointer = Readonly<Record<string, string>>;

/** The values that one level has set. */
export type LevelValues = LevelReference & {
  readonly version: number;
  /** Without secrets; undefined when the level has set nothing, or has removed its values. */
  readonly values: ParameterValues | undefined;
  readonly secrets: SecretsByPointer;
};

/** The release of a service that is in force. */
export type ReleaseParameters = {
  readonly serviceId: string;
  readonly name: string;
  readonly domain: string;
  readonly release: number;
  readonly schema?: ParameterValues;
  /** The schema without `required` and without `additionalProperties: false`. */
  readonly relaxedSchema?: ParameterValues;
  readonly defaults: ParameterValues;
};

/**
 * A stored value that does not fit the release in force, or a missing one. Without a level, the
 * fault belongs to the merged values.
 */
export type ValueFault = FieldError & Partial<LevelReference>;

/**
 * Rules that a schema cannot express, by the domain of the service. They return faults of merged
 * values of any form, with pointers that start at the values.
 */
export type ValueRules = Readonly<
  Record<string, (values: ParameterValues) => readonly FieldError[]>
>;
