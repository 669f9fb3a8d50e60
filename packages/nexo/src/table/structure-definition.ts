/** How a row of the table is written. */

/**
 * One structure: its members, each with the name of what it is and how often it may occur.
 * `Name` once, `Name?` at most once, `Name*` a list, `Name+` a list that is not empty: the nexo
 * dictionary's [1..1], [0..1], [0..n] and [1..n].
 */
export type StructureDefinition = Readonly<Record<string, string>>;

/** Structures by name. */
export type StructureDefinitions = Readonly<Record<string, StructureDefinition>>;
