import React, { createContext, forwardRef, memo, useContext, type ReactNode } from "react";
import * as Dialog from "./dialog";
import styles from "./board.module.css";
import type { Card, Column } from "../model";

export type { Card } from "../model";

/** What a board is told by its owner. */
export interface BoardProps<T extends Card = Card> {
  columns: Column<T>[];
  title?: ReactNode;
  onMove(card: T, to: Column<T>): void;
  render?: (card: T) => JSX.Element;
}

type State = { dragged: Card | null; over?: string } & { count: number };

const LANES = ["todo", "doing", "done"] as const;
const BoardContext = createContext<State>({ dragged: null, count: 0 });

// Everything below reads the board from here.
export const useBoard = () => useContext(BoardContext);

export const Title = ({ children }: { children: ReactNode }): JSX.Element => (
  <h1 className={styles.title}>{children}</h1>
);

/** One card, drawn again only when it changes. */
export const CardView = memo(function CardView({ card }: { card: Card }) {
  const { dragged } = useBoard();
  const isDragged = dragged === card;
  return (
    <article data-dragged={isDragged} {...card.attributes}>
      <Title>{card.name}</Title>
      {card.labels.map((label) => (
        <Label key={label.id} {...label} />
      ))}
    </article>
  );
});

export const Input = forwardRef<HTMLInputElement, { value: string }>(({ value, ...rest }, ref) => {
  const onFocus = (event: React.FocusEvent) => event.target.select();
  return <input ref={ref} value={value} onFocus={onFocus} {...rest} />;
});

function Label<T,>({ text, color = "grey" }: { text: T; color?: string }) {
  return <span style={{ color }}>{String(text)}</span>;
}
Label.displayName = "Label";

export default function Board<T extends Card>({ columns, title, onMove, render }: BoardProps<T>) {
  const [state, setState] = React.useState<State>({ dragged: null, count: 0 });
  const ids = React.useMemo(() => new Set(columns.map((each) => each.id)), [columns]);

  React.useEffect(() => {
    function onKey(event: KeyboardEvent) {
      if (event.key === "Escape") setState((old) => ({ ...old, dragged: null }));
    }
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, []);

  async function drop(column: Column<T>): Promise<void> {
    if (state.dragged && ids.has(column.id)) onMove(state.dragged as T, column);
  }

  const handlers = {
    onDrop: (column: Column<T>) => drop(column),
  };

  return (
    <BoardContext.Provider value={state}>
      {title && <Title>{title}</Title>}
      <Dialog.Root open={!!state.over}>
        <Dialog.Close onClick={() => setState({ ...state, over: undefined })} />
      </Dialog.Root>
      {columns.map((column) => (
        <section key={column.id} onDrop={() => handlers.onDrop(column)}>
          {column.cards.map((card) => render?.(card) ?? <CardView card={card} />)}
        </section>
      ))}
      <Boundary<Error> fallback={<p>{LANES[0]}</p>}>
        <Input value={column_title(columns)} />
      </Boundary>
    </BoardContext.Provider>
  );
}

interface Failed<E> {
  error?: E;
}

/**
 * Shows something else when a child throws.
 */
export class Boundary<E extends Error> extends React.Component<{ fallback: ReactNode }, Failed<E>> {
  static displayName = "Boundary";
  state: Failed<E> = {};

  static getDerivedStateFromError<E>(error: E): Failed<E> {
    return { error };
  }

  retry = () => {
    this.setState({ error: undefined });
  };

  render(): ReactNode {
    return this.state.error ? <button onClick={this.retry}>{this.props.fallback}</button> : this.props.children;
  }
}

export const Empty: React.FC = () => <></>;

export const Lazy = React.lazy(() => import("./archive"));

const column_title = <T extends Card>(columns: Column<T>[]): string => columns.map((each) => each.title).join(" | ");

export { Label as CardLabel };
