// Selects the declarations that the public interface of a package reaches, in all packages, and writes
// them as files that import each other by relative paths.
import { dirname, posix } from 'node:path';
import {
  type Declaration,
  type DeclarationFile,
  type ImportedName,
  namespace,
  readDeclarationFile,
} from './declaration-file.ts';
import type { PackedFile } from './tarball.ts';

export type DeclarationSources = {
  /** @returns the declaration file; undefined for a module of Node.js */
  readonly resolve: (specifier: string, from: string) => string | undefined;
  /** @returns where a declaration file is in the package, without its extension */
  readonly pathOf: (file: string) => string;
  /** Whether all declarations of a file are taken when one is. */
  readonly isTakenWhole: (file: string) => boolean;
};

/** A declared name and its file; or a whole module, with `namespace` as its name. */
type Target = { readonly file: string; readonly name: string; readonly isType: boolean };

type Selected = { readonly declarations: Set<Declaration>; readonly exports: Set<string> };

class Selection {
  readonly files = new Map<string, Selected>();
  readonly #sources: DeclarationSources;
  readonly #read = new Map<string, DeclarationFile>();

  constructor(sources: DeclarationSources) {
    this.#sources = sources;
  }

  read(path: string): DeclarationFile {
    const file = this.#read.get(path) ?? readDeclarationFile(path);
    this.#read.set(path, file);
    return file;
  }

  /** @returns undefined for a module of Node.js */
  targetOf({ from, name, isType }: ImportedName, path: string): Target | undefined {
    const file = this.#sources.resolve(from, path);
    if (file === undefined) return undefined;
    if (name === namespace) return { file, name, isType };
    const target = this.#find(file, name);
    if (target === undefined) throw new Error(`${path}: ${from} does not export ${name}`);
    return { ...target, isType: isType || target.isType };
  }

  #find(path: string, name: string, seen = new Set<string>()): Target | undefined {
    if (seen.has(path)) return undefined;
    seen.add(path);
    const { exports, reexports, allFrom } = this.read(path);
    if (exports.has(name)) return { file: path, name, isType: false };
    const reexported = reexports.get(name);
    if (reexported !== undefined) return this.targetOf(reexported, path);
    for (const from of allFrom) {
      const file = this.#sources.resolve(from, path);
      const target = file === undefined ? undefined : this.#find(file, name, seen);
      if (target !== undefined) return target;
    }
    return undefined;
  }

  exportsOf(path: string): Set<string> {
    const { exports, reexports, allFrom } = this.read(path);
    const names = new Set([...exports.keys(), ...reexports.keys()]);
    for (const from of allFrom) {
      const file = this.#sources.resolve(from, path);
      if (file === undefined) throw new Error(`${path} exports all of ${from}`);
      for (const name of this.exportsOf(file)) if (name !== 'default') names.add(name);
    }
    return names;
  }

  /** Where an export of a file is declared: there, or in the file that it is exported from. */
  targetOfExport(path: string, name: string): Target {
    const target = this.#find(path, name);
    if (target === undefined) throw new Error(`${path} does not export ${name}`);
    return target;
  }

  selectExport(path: string, name: string): void {
    const selected = this.#selectedOf(path);
    if (selected.exports.has(name)) return;
    selected.exports.add(name);
    const file = this.read(path);
    const local = file.exports.get(name);
    if (local === undefined) {
      this.#selectTarget(this.targetOfExport(path, name), new Set([namespace]));
    } else {
      const whole = this.#sources.isTakenWhole(path) ? [...file.exports.keys()] : [];
      for (const each of whole) this.selectExport(path, each);
      this.#selectLocal(file, local);
    }
  }

  selectAll(path: string): void {
    this.#selectedOf(path);
    for (const name of this.exportsOf(path)) this.selectExport(path, name);
  }

  #selectedOf(path: string): Selected {
    const selected = this.files.get(path) ?? { declarations: new Set(), exports: new Set() };
    this.files.set(path, selected);
    return selected;
  }

  #selectTarget({ file, name }: Target, members: ReadonlySet<string>): void {
    if (name === namespace && members.has(namespace)) {
      this.selectAll(file);
    } else {
      for (const each of name === namespace ? members : [name]) this.selectExport(file, each);
    }
  }

  #selectLocal(file: DeclarationFile, name: string): void {
    const { declarations } = this.#selectedOf(file.path);
    for (const declaration of file.declarations) {
      if (!declaration.names.includes(name) || declarations.has(declaration)) continue;
      declarations.add(declaration);
      for (const [used, members] of declaration.uses) this.#selectUse(file, used, members);
      for (const { from, name: used } of declaration.importTypes) {
        const target = this.targetOf({ from, name: used, isType: true }, file.path);
        if (target !== undefined) this.#selectTarget(target, new Set([namespace]));
      }
    }
  }

  #selectUse(file: DeclarationFile, name: string, members: ReadonlySet<string>): void {
    const imported = file.imports.get(name);
    if (imported === undefined) {
      this.#selectLocal(file, name);
    } else {
      const target = this.targetOf(imported, file.path);
      if (target !== undefined) this.#selectTarget(target, members);
    }
  }
}

/** `A as B`, `* as B` or `A`. */
function renamed(name: string, local: string): string {
  return name === local ? name : `${name} as ${local}`;
}

class Writer {
  readonly #selection: Selection;
  readonly #sources: DeclarationSources;

  constructor(selection: Selection, sources: DeclarationSources) {
    this.#selection = selection;
    this.#sources = sources;
  }

  textOf(path: string, selected: Selected): string {
    const file = this.#selection.read(path);
    const kept = file.declarations.filter((each) => selected.declarations.has(each));
    const lines = [
      ...this.#importLines(file, kept),
      ...kept.map((each) => this.#declarationText(file, each)),
      ...this.#exportLines(file, kept, selected.exports),
    ];
    return `${lines.join('\n')}\n`;
  }

  #importLines({ path, imports }: DeclarationFile, kept: readonly Declaration[]): string[] {
    const used = new Set(kept.flatMap(({ uses }) => [...uses.keys()]));
    return [...imports]
      .filter(([local]) => used.has(local))
      .map(([local, imported]) => {
        const target = this.#selection.targetOf(imported, path);
        const { name } = target ?? imported;
        const from = target === undefined ? imported.from : this.#specifier(path, target.file);
        if (name === namespace) return `import type * as ${local} from '${from}';`;
        return `import type { ${renamed(name, local)} } from '${from}';`;
      });
  }

  #exportLines(
    file: DeclarationFile,
    kept: readonly Declaration[],
    names: ReadonlySet<string>,
  ): string[] {
    const exportedInline = new Set(
      kept
        .filter(({ start }) => file.text.startsWith('export', start))
        .flatMap((declaration) => declaration.names),
    );
    const lines = [...names].toSorted().flatMap((name) => {
      const local = file.exports.get(name);
      if (local !== undefined) {
        return exportedInline.has(name) ? [] : [`export { ${renamed(local, name)} };`];
      }
      const target = this.#selection.targetOfExport(file.path, name);
      const from = this.#specifier(file.path, target.file);
      if (target.name === namespace) return [`export * as ${name} from '${from}';`];
      return [
        `export ${target.isType ? 'type ' : ''}{ ${renamed(target.name, name)} } from '${from}';`,
      ];
    });
    // A file without an export would export all that it declares.
    return [...lines, 'export {};'];
  }

  #declarationText({ path, text }: DeclarationFile, declaration: Declaration): string {
    let at = declaration.textStart;
    let result = '';
    for (const { from, name, start, end } of declaration.importTypes) {
      const target = this.#selection.targetOf({ from, name, isType: true }, path);
      if (target === undefined) continue;
      if (target.name !== name)
        throw new Error(`${path}: ${name} has another name in ${target.file}`);
      result += `${text.slice(at, start)}'${this.#specifier(path, target.file)}'`;
      at = end;
    }
    return (result + text.slice(at, declaration.end)).trim();
  }

  #specifier(from: string, to: string): string {
    const { pathOf } = this.#sources;
    const path = posix.relative(dirname(pathOf(from)), pathOf(to));
    return `${path.startsWith('.') ? '' : './'}${path}.js`;
  }
}

/** @returns the declaration file of the entry, and those that it needs */
export function selectDeclarations(entry: string, sources: DeclarationSources): PackedFile[] {
  const selection = new Selection(sources);
  selection.selectAll(entry);
  const writer = new Writer(selection, sources);
  return [...selection.files].map(([file, selected]) => ({
    path: `${sources.pathOf(file)}.d.ts`,
    bytes: Buffer.from(writer.textOf(file, selected)),
  }));
}
