/** The state of an import in the browser: check, send, interrupt, continue, complete. */
import type { BulkResult } from '@switchyard/contract';
import { useCallback, useEffect, useRef, useState } from 'react';
import { reloadEstate } from '../estate/estate-data.ts';
import type { ImportFile } from './parse-import-file.ts';
import { runImport, type Summary } from './run-import.ts';

export type ImportStage =
  | { readonly at: 'ready' }
  | { readonly at: 'running'; readonly isTrial: boolean; readonly lines: number }
  | {
      readonly at: 'done';
      readonly isTrial: boolean;
      readonly results: readonly BulkResult[];
      readonly summary: Summary;
      readonly run: number;
    }
  | { readonly at: 'broken'; readonly isTrial: boolean; readonly fault: unknown };

export function useImport() {
  const [stage, setStage] = useState<ImportStage>({ at: 'ready' });
  const control = useRef<AbortController | undefined>(undefined);
  const runs = useRef(0);

  // Leaving the page cancels the request; the platform keeps the imported lines, and the import can
  // be continued.
  useEffect(() => () => control.current?.abort(), []);

  const start = useCallback(
    async (file: ImportFile, bulkId: string, isTrial: boolean): Promise<void> => {
      // A state update is too late to block the second of two quick clicks.
      if (control.current !== undefined) return;
      const controller = new AbortController();
      control.current = controller;
      runs.current += 1;
      const run = runs.current;
      setStage({ at: 'running', isTrial, lines: 0 });
      try {
        const { results, summary } = await runImport({
          file,
          bulkId,
          isTrial,
          signal: controller.signal,
          onProgress: (lines) => setStage({ at: 'running', isTrial, lines }),
        });
        setStage({ at: 'done', isTrial, results, summary, run });
        if (!isTrial) reloadEstate();
      } catch (fault) {
        if (!controller.signal.aborted) setStage({ at: 'broken', isTrial, fault });
      } finally {
        if (control.current === controller) control.current = undefined;
      }
    },
    [],
  );

  const reset = useCallback(() => {
    control.current?.abort();
    control.current = undefined;
    setStage({ at: 'ready' });
  }, []);

  return { stage, start, reset };
}
