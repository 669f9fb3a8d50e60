/** A form that has a page to itself: sent once, as `ConfirmAction` does it, and left by its own button. */
import { useRef } from 'react';
import { type ConfirmActionProps, ConfirmForm } from './confirm-dialog.tsx';

export type PageFormProps<Result> = Omit<ConfirmActionProps<Result>, 'isOpen' | 'title' | 'size'>;

export function PageForm<Result>(props: PageFormProps<Result>) {
  const isRunning = useRef(false);
  const leave = () => {
    if (!isRunning.current) props.onClose();
  };
  return <ConfirmForm {...props} close={leave} isRunning={isRunning} />;
}
