{-# LANGUAGE DerivingStrategies #-}
{-# LANGUAGE GADTs #-}
{-# LANGUAGE TypeFamilies #-}

-- | Shapes, their areas and a small scene language.
module Graphics.Shapes
  ( Shape (..)
  , HasArea (area, perimeter)
  , Scene
  , module Data.Maybe
  , render
  , (<+>)
  , pattern Unit
  ) where

import Data.Kind (Type)
import qualified Data.Map.Strict as Map
import Data.Map.Strict (Map, (!?))
import Data.Maybe
import Control.Monad.State hiding (state)
import Prelude qualified as P

-- | A figure in the plane.
data Shape
  = Circle Double        -- ^ by its radius
  | Rect { width :: Double, height :: !Double }
  | -- | Any number of corners.
    Polygon [Point]
  deriving stock (Eq, Show)
  deriving anyclass (Hashable)

-- | Where something is.
data Point = Point
  { px, py :: Double -- ^ coordinates
  , label :: Maybe String
  }

newtype Scene a = Scene { runScene :: State (Map String Shape) a }
  deriving newtype (Functor, Applicative, Monad)

type Name = String
type family Elem c :: Type
type instance Elem [e] = e

data Expr :: Type -> Type where
  IntE  :: Int -> Expr Int
  Add   :: Expr Int -> Expr Int -> Expr Int

-- | Things with an area.
class Show a => HasArea a where
  type Unit' a :: Type
  -- | In square units.
  area :: a -> Double
  perimeter, diameter :: a -> Double
  perimeter _ = 0
  diameter = const 1
  {-# MINIMAL area #-}

instance HasArea Shape where
  type Unit' Shape = Double
  area (Circle r) = pi * square r
  area Rect { width = w, height = h } = w * h
  area (Polygon points) = abs (go points) / 2
    where
      go (Point x1 y1 _ : q@(Point x2 y2 _) : rest) =
        x1 * y2 - x2 * y1 + go (q : rest)
      go _ = 0
      unused = 3
  perimeter (Circle r) = 2 * pi * r
  perimeter other = sum $ map (uncurry distance) (edges other)

instance (Show a, HasArea a) => HasArea (Maybe a) where
  area = maybe 0 area

deriving instance Ord Shape

pattern Unit :: Shape
pattern Unit = Circle 1

infixl 6 <+>

-- | Puts two scenes in one.
(<+>) :: Scene a -> Scene b -> Scene b
a <+> b = a >> b

square :: Num n => n -> n
square n = n * n

-- Both must have been placed before.
distance
  :: Point   -- ^ from here
  -> Point   -- ^ to there
  -> Double
distance (Point x1 y1 _) Point { px = x2, py = y2 }
  | x1 == x2 = abs (y1 - y2)
  | otherwise = sqrt (square dx + square dy)
  where
    dx = x1 - x2
    dy = y1 - y2

edges :: Shape -> [(Point, Point)]
edges (Polygon ps@(p : _)) = zip ps (P.drop 1 ps ++ [p])
edges _ = []

defaultName :: Name
defaultName = "scene"

origin, unitX :: Point
origin = Point 0 0 Nothing
unitX = origin { px = 1 }

-- | Adds a shape under a name.
place :: Name -> Shape -> Scene ()
place name shape = Scene $ modify (Map.insert name shape)

lookupShape :: Name -> Scene (Maybe Shape)
lookupShape name = Scene (gets (!? name))

render :: forall a. Scene a -> IO ()
render scene = do
  let shapes = execState (runScene scene) Map.empty
      line k v = k <> ": " <> show v
  mapM_ (putStrLn . P.uncurry line) (Map.toList shapes)
  case Map.lookup defaultName shapes of
    Just s | area s > 10 -> putStrLn "large"
    _ -> pure ()

helper x = x `seq` lookupShape x

foreign import ccall "math.h sin" c_sin :: Double -> Double

main :: IO ()
main = render (place "a" (Circle 2) <+> place "b" Rect { width = 1, height = 2 })
